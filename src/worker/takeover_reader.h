// SPDX-License-Identifier: Apache-2.0
// TakeoverReader: how far a final session's delivery was durable, from its cursor pages in the store and from what the
// sink holds of it.
//
// The sink's part blocks on files, so it has a thread of its own; when it is late or fails, the pages alone count,
// which costs redelivery and loses nothing. Thread-safety: none; lives on the control loop's thread.
#pragma once

#include <longhold/core/engine_types.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/thread.h>
#include <longhold/sink/sink.h>
#include <longhold/store/store.h>
#include <longhold/telemetry/log.h>

#include <memory>

namespace longhold::worker {

class TakeoverReader {
public:
    TakeoverReader(runtime::Loop& control, store::Store& store, sink::Sink& sink, telemetry::Log& log);
    ~TakeoverReader();
    TakeoverReader(const TakeoverReader&) = delete;
    TakeoverReader& operator=(const TakeoverReader&) = delete;

    // Nothing when the store did not answer by `deadline`.
    [[nodiscard]] runtime::Task<std::optional<core::TakeoverRead>> read(SessionId session, Instant deadline);

private:
    struct Points;
    runtime::Task<std::shared_ptr<Points>> read_sink(SessionId session, Instant deadline);

    runtime::Loop& control_;
    store::Store& store_;
    sink::Sink& sink_;
    telemetry::Log& log_;
    runtime::Loop files_;
    runtime::Thread thread_;
};

}  // namespace longhold::worker
