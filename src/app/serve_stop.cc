// SPDX-License-Identifier: Apache-2.0
// The stop of a serving process: why it begins, its ordered steps, and the last resort behind them.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "blocking.h"
#include "serve_options.h"
#include "serve_process_impl.h"

namespace longhold::app {
namespace {

using namespace std::chrono_literals;

constexpr Duration last_resort_after = 10s;

}  // namespace

void ServeProcess::Impl::begin_to_stop() {
    stopping = true;
    stop_asked_at = clock.now();
    arm_last_resort(lifecycle::StopPlan{stop_step_specs(settings, true), *stop_asked_at}.last_deadline());
    stop_wanted.notify();
}

// Ends the process some time after `due`, whatever its loops are doing: a thread that hangs in the kernel, on a mount
// that does not answer, cannot be ended in any other way.
void ServeProcess::Impl::arm_last_resort(Instant due) {
    last_resort = watchdog.call_at(due + last_resort_after, [] { std::_Exit(exit_failed); });
}

void ServeProcess::Impl::ask_to_stop(const std::string& why) {
    if (stopping) {
        log.warning("stopping already: waits are skipped now, flushes are not", {{"asked_by", why}});
        if (sequence) {
            sequence->hurry();
        }
        return;
    }
    log.info("stopping", {{"asked_by", why}});
    begin_to_stop();
}

void ServeProcess::Impl::fail(const std::string& why) {
    log.error("cannot go on", {{"reason", why}});
    failed = true;
    if (sequence) {
        sequence->lose_session();
    }
    if (!stopping) {
        begin_to_stop();
    }
}

runtime::Task<int> ServeProcess::Impl::stop() {
    if (!stopping) {
        begin_to_stop();
    }
    health.enter(lifecycle::ProcessState::draining);
    static_cast<void>(notifier.stopping());
    if (worker) {
        worker->begin_drain();
    }
    sequence = std::make_unique<lifecycle::StopSequence>(loop, log, stop_steps(), *stop_asked_at);
    if (failed) {
        sequence->lose_session();
    }
    const int code = co_await sequence->run();
    health.enter(lifecycle::ProcessState::stopped);
    background.stop();
    co_await background.join();
    co_await peers.close(clock.now() + 1s);
    co_await admin.close(clock.now() + 1s);
    store.reset();
    check_store_handle.reset();
    co_return code;
}

// Of a process that never started to serve.
runtime::Task<> ServeProcess::Impl::close_listeners() {
    co_await peers.close(clock.now() + 1s);
    co_await admin.close(clock.now() + 1s);
    loop.finish();
}

std::vector<lifecycle::StopStep> ServeProcess::Impl::stop_steps() {
    std::vector<lifecycle::StopStep> steps;
    if (!worker) {
        return steps;
    }
    const std::vector<lifecycle::StepWork> works{
        [this](Instant deadline) -> runtime::Task<lifecycle::StepResult> { return wait_until(loop, deadline); },
        [this](Instant deadline) { return hand_over(deadline); }, [this](Instant deadline) { return flush(deadline); },
        [this](Instant deadline) { return leave(deadline); }};
    auto specs = stop_step_specs(settings, worker->peers() > 0);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        steps.push_back({std::move(specs.at(i)), works.at(i)});
    }
    return steps;
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::hand_over(Instant deadline) {
    const std::size_t left = co_await worker->hand_over(deadline - 100ms);
    if (worker->status().session_state == "fencing") {
        co_return std::unexpected("the session was lost meanwhile; what it still held is left to fencing");
    }
    if (left > 0) {
        co_return std::unexpected(std::to_string(left) + " connections are not handed over; they are left to fencing");
    }
    co_return lifecycle::StepResult{};
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::flush(Instant deadline) {
    const bool written = co_await run_blocking<bool>(loop, [this, deadline] { return sink->close(deadline - 500ms); });
    bool kept = true;
    // A session past its deadline writes nothing more.
    if (!failed && worker->status().session_state == "draining") {
        kept = co_await worker->checkpoint(std::min(deadline, clock.now() + settings.drain.flush));
    }
    if (!written) {
        co_return std::unexpected(
            "the sink did not take everything in time; what it did not is asked for again by the next owner");
    }
    if (!kept) {
        co_return std::unexpected("the last cursors could not be written");
    }
    co_return lifecycle::StepResult{};
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::leave(Instant deadline) {
    // What earlier steps left over is not spent here: a store that takes no writes would only hold the process up.
    const bool left = co_await worker->leave(std::min(deadline, clock.now() + settings.drain.close) - 200ms);
    co_await worker->stop();
    if (!left && !failed) {
        co_return std::unexpected("the session could not be ended in the store; it is left to fencing");
    }
    co_return lifecycle::StepResult{};
}

}  // namespace longhold::app
