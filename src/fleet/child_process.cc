// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <longhold/fleet/child_process.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace longhold::fleet {
namespace {

constexpr int exit_cannot_run = 127;

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* words, int log, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::getppid() != parent || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(log, STDOUT_FILENO) < 0 ||
        ::dup2(log, STDERR_FILENO) < 0) {
        ::_exit(exit_cannot_run);
    }
    ::execv(words[0], words);
    ::_exit(exit_cannot_run);
}

}  // namespace

std::expected<std::unique_ptr<ChildProcess>, std::string> ChildProcess::start(const std::vector<std::string>& words,
                                                                              const std::string& log_file) {
    const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) {
        return std::unexpected("the log file " + log_file + " cannot be opened: " + std::strerror(errno));
    }
    std::vector<std::string> copies = words;
    std::vector<char*> pointers;
    for (auto& word : copies) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        become(pointers.data(), log, parent);
    }
    const int fork_error = errno;
    ::close(log);
    if (pid < 0) {
        return std::unexpected(words.front() + " cannot be started: " + std::strerror(fork_error));
    }
    return std::unique_ptr<ChildProcess>{new ChildProcess{pid}};
}

ChildProcess::~ChildProcess() {
    if (!end_) {
        ::kill(pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
    }
}

void ChildProcess::send(int signal) {
    if (!end()) {
        ::kill(pid_, signal);
    }
}

const std::optional<ChildEnd>& ChildProcess::end() {
    int status = 0;
    if (!end_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        ChildEnd ended;
        if (WIFEXITED(status)) {
            ended.exit_code = WEXITSTATUS(status);
        } else {
            ended.signal = WTERMSIG(status);
        }
        end_ = ended;
    }
    return end_;
}

}  // namespace longhold::fleet
