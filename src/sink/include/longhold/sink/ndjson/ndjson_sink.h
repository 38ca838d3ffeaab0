// SPDX-License-Identifier: Apache-2.0
// The NDJSON sink: files of lines in a directory, one current file for each session.
//
// Acks after the fdatasync that covers a batch; one sync covers all that was written since the last (group commit).
// Keeps: nothing acked is lost with power; no line is torn but the last one of a file whose writer died; each current
// file is exclusively locked by its writer. docs/sinks.md has the whole story.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/clock.h>
#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/sink.h>
#include <longhold/telemetry/log.h>

#include <cstdint>
#include <memory>
#include <string>

namespace longhold::sink {

struct NdjsonOptions {
    std::string directory{};
    std::string name{};                                     // as the settings name the sink
    Duration fsync_every = std::chrono::milliseconds{200};  // from the first unsynced write; 0: after each batch
    std::uint64_t rotate_bytes = 128ULL * 1024 * 1024;      // a file grows beyond it only by a batch that alone does
    Duration rotate_every = std::chrono::hours{1};
};

// Creates the directory if only it is missing, repairs torn last lines that dead writers left, and starts the sink.
// Errors: `invalid` for options or a directory that cannot be used, `unavailable` for what may pass. `files`, `clock`
// and `log` outlive the sink; `files` must outlive the process's last use of it if close() had to leave its thread.
//
// close() waits at most 250 ms beyond its deadline for a thread that is stuck in the kernel; it then gives the batches
// back itself, on the calling thread, and leaves the thread behind: when the kernel returns to it, it ends without
// doing anything more. Only that one call into the kernel may still take effect after close(). A batch submitted after
// close() is given back as discarded on the submitter's thread.
[[nodiscard]] Result<std::unique_ptr<Sink>> open_ndjson_sink(NdjsonOptions options, Files& files,
                                                             const runtime::Clock& clock, telemetry::Log& log);

}  // namespace longhold::sink
