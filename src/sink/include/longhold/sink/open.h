// SPDX-License-Identifier: Apache-2.0
// Opens the sink that a URL names.
#pragma once

#include <longhold/runtime/clock.h>
#include <longhold/sink/ndjson/ndjson_sink.h>
#include <longhold/sink/sink.h>
#include <longhold/telemetry/log.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sink {

struct SinkOptions {
    std::string name;      // as the settings name it, such as "main"
    std::string url;       // "ndjson:DIR/"
    NdjsonOptions ndjson;  // for that scheme; name and directory are taken from the two above
};

// The schemes that this build can open, as "ndjson".
[[nodiscard]] std::vector<std::string_view> sink_schemes();

// Errors: `invalid` for a URL, an option or a place that cannot be used: the text names sink and place and says what to
// do. `clock` and `log` outlive the sink.
[[nodiscard]] Result<std::unique_ptr<Sink>> open_sink(const SinkOptions& options, const runtime::Clock& clock,
                                                      telemetry::Log& log);

}  // namespace longhold::sink
