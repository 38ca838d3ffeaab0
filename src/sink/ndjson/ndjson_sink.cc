// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/runtime/thread.h>
#include <longhold/sink/ndjson/ndjson_sink.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "repair.h"
#include "resume.h"
#include "writer.h"

namespace longhold::sink {
namespace {

// How long close() waits beyond its deadline for a thread that is inside the kernel.
constexpr Duration stuck_grace = std::chrono::milliseconds{250};
constexpr Duration ended_look_every = std::chrono::milliseconds{20};

class NdjsonSink final : public Sink {
public:
    NdjsonSink(const NdjsonOptions& options, Files& files, const runtime::Clock& clock, telemetry::Log& log,
               std::shared_ptr<Writer> writer)
        : directory_(options.directory),
          name_(options.name),
          files_(files),
          clock_(clock),
          log_(log),
          writer_(std::move(writer)),
          thread_(std::make_unique<runtime::Thread>("lh-ndjson", [writer = writer_] { writer->run(); })) {}

    ~NdjsonSink() override {
        if (!closed_) {
            close(clock_.now());
        }
        // A thread that was left behind is joined when it has come back, else it stays: joining could take for ever.
        if (left_behind_ && !writer_->wait_ended(Duration{0})) {
            static_cast<void>(thread_.release());
        }
    }

    void submit(std::unique_ptr<RecordBatch> batch, BatchReceiver& receiver) override {
        invariant(batch != nullptr && batch->right != nullptr, "a batch is submitted under a right");
        writer_->submit(std::make_unique<Item>(Item{std::move(batch), &receiver, SessionId{}, nullptr}));
    }

    void hurry() override { writer_->hurry(); }

    Result<std::vector<SinkCursor>> resume_points(const SessionId& session) override {
        auto scan = scan_resume_points(files_, directory_, session);
        if (!scan) {
            return std::unexpected(std::move(scan.error()));
        }
        if (scan->bad_lines > 0 || !scan->whole) {
            log_.warning("resume points of a session are from a part of its lines", {{"sink", name_},
                                                                                     {"directory", directory_},
                                                                                     {"session", session},
                                                                                     {"lines", scan->lines},
                                                                                     {"unreadable", scan->bad_lines},
                                                                                     {"whole", scan->whole ? 1 : 0}});
        }
        return std::move(scan->cursors);
    }

    void end_session(const SessionId& session) override {
        writer_->submit(std::make_unique<Item>(Item{nullptr, nullptr, session, nullptr}));
    }

    SinkHealth health() const override { return writer_->health(); }

    bool close(Instant deadline) override {
        invariant(!closed_, "a sink is closed once");
        closed_ = true;
        writer_->begin_close(deadline);
        while (!writer_->wait_ended(ended_look_every)) {
            if (clock_.now() >= deadline + stuck_grace && writer_->give_up()) {
                left_behind_ = true;
                log_.error("sink is closed while the kernel does not return from a file operation",
                           {{"sink", name_}, {"directory", directory_}});
                return false;
            }
        }
        thread_->join();
        return writer_->wrote_everything();
    }

private:
    const std::string directory_;
    const std::string name_;
    Files& files_;
    const runtime::Clock& clock_;
    telemetry::Log& log_;
    std::shared_ptr<Writer> writer_;
    std::unique_ptr<runtime::Thread> thread_;
    bool closed_ = false;
    bool left_behind_ = false;
};

std::unexpected<Error> invalid(const NdjsonOptions& options, const std::string& what) {
    return std::unexpected(Error{Errc::invalid, "sink '" + options.name + "': " + what});
}

std::string parent_of(std::string directory) {
    while (directory.size() > 1 && directory.ends_with('/')) {
        directory.pop_back();
    }
    const std::size_t slash = directory.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : directory.substr(0, slash);
}

Result<void> prepare_directory(const NdjsonOptions& options, Files& files) {
    const std::string quoted = "'" + options.directory + "'";
    auto usable = files.check_directory(options.directory);
    if (!usable && usable.error() == ENOENT) {
        const std::string parent = parent_of(options.directory);
        auto made = files.make_directory(options.directory);
        if (!made && made.error() == ENOENT) {
            return invalid(options, "the directory " + quoted + " does not exist, nor does '" + parent +
                                        "', which it would be created in; create '" + parent +
                                        "' or name another directory");
        }
        if (!made && made.error() != EEXIST) {
            return invalid(options, "cannot create the directory " + quoted + ": " + error_text(made.error()) +
                                        "; create it, or make '" + parent + "' writable for this user");
        }
        if (auto synced = files.sync_directory(parent); !synced) {
            return invalid(options,
                           "cannot make the new directory " + quoted + " durable: " + error_text(synced.error()));
        }
        usable = files.check_directory(options.directory);
    }
    if (!usable && usable.error() == ENOTDIR) {
        return invalid(options, quoted + " is not a directory; name one, or remove the file");
    }
    if (!usable) {
        return invalid(options, "the directory " + quoted + " cannot be written: " + error_text(usable.error()) +
                                    "; let this user read, write and enter it, or name another directory");
    }
    return {};
}

Result<void> check_options(const NdjsonOptions& options) {
    if (options.directory.empty()) {
        return invalid(options, "no directory is named; write ndjson:DIR/");
    }
    if (options.fsync_every < Duration{0}) {
        return invalid(options, "fsync_every must not be negative; 0 syncs each batch");
    }
    if (options.rotate_bytes == 0 || options.rotate_every <= Duration{0}) {
        return invalid(options, "rotate_bytes and rotate_every must be above 0");
    }
    return {};
}

Result<void> repair(const NdjsonOptions& options, Files& files, telemetry::Log& log) {
    auto report = repair_torn_lines(files, options.directory);
    if (!report) {
        return std::unexpected(std::move(report.error()));
    }
    std::string names;
    std::uint64_t bytes = 0;
    for (const Repaired& file : report->repaired) {
        names += (names.empty() ? "" : " ") + file.name;
        bytes += file.bytes;
    }
    if (!report->repaired.empty()) {
        log.warning("torn last lines of dead writers were cut", {{"sink", options.name},
                                                                 {"directory", options.directory},
                                                                 {"files", report->repaired.size()},
                                                                 {"bytes", bytes},
                                                                 {"names", names}});
    }
    for (const std::string& failure : report->failed) {
        log.warning("a file of the sink could not be looked at for a torn last line",
                    {{"sink", options.name}, {"directory", options.directory}, {"file", failure}});
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<Sink>> open_ndjson_sink(NdjsonOptions options, Files& files, const runtime::Clock& clock,
                                               telemetry::Log& log) {
    if (auto checked = check_options(options); !checked) {
        return std::unexpected(std::move(checked.error()));
    }
    if (auto prepared = prepare_directory(options, files); !prepared) {
        return std::unexpected(std::move(prepared.error()));
    }
    if (auto repaired = repair(options, files, log); !repaired) {
        return std::unexpected(std::move(repaired.error()));
    }
    auto writer = std::make_shared<Writer>(options, files, clock, log);
    if (!writer->valid()) {
        return std::unexpected(
            Error{Errc::unavailable, "sink '" + options.name + "': no file descriptor is left; raise the limit"});
    }
    return std::make_unique<NdjsonSink>(options, files, clock, log, std::move(writer));
}

}  // namespace longhold::sink
