// SPDX-License-Identifier: Apache-2.0
#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/open.h>

#include <utility>

namespace longhold::sink {
namespace {

std::unexpected<Error> invalid(const SinkOptions& options, const std::string& what) {
    std::string schemes;
    for (const std::string_view scheme : sink_schemes()) {
        schemes += (schemes.empty() ? "" : ", ") + std::string{scheme} + ":";
    }
    return std::unexpected(
        Error{Errc::invalid, "sink '" + options.name + "': " + what + " (schemes in this build: " + schemes + ")"});
}

Result<std::unique_ptr<Sink>> open_ndjson(const SinkOptions& options, std::string_view rest,
                                          const runtime::Clock& clock, telemetry::Log& log) {
    if (rest.empty()) {
        return invalid(options, "'" + options.url + "' names no directory; write ndjson:DIR/");
    }
    if (rest.starts_with("//") && !rest.starts_with("///")) {
        return invalid(options, "'" + options.url + "' names a host, but the sink writes files here; write ndjson:" +
                                    std::string{rest.substr(2)});
    }
    while (rest.size() > 1 && rest.ends_with('/')) {
        rest.remove_suffix(1);
    }
    NdjsonOptions ndjson = options.ndjson;
    ndjson.name = options.name;
    ndjson.directory = rest;
    return open_ndjson_sink(std::move(ndjson), system_files(), clock, log);
}

}  // namespace

std::vector<std::string_view> sink_schemes() {
    return {"ndjson"};
}

Result<std::unique_ptr<Sink>> open_sink(const SinkOptions& options, const runtime::Clock& clock, telemetry::Log& log) {
    const std::size_t colon = options.url.find(':');
    if (colon == std::string::npos) {
        return invalid(options, "'" + options.url + "' has no scheme; write ndjson:" +
                                    (options.url.empty() ? std::string{"DIR/"} : options.url));
    }
    const std::string_view scheme = std::string_view{options.url}.substr(0, colon);
    const std::string_view rest = std::string_view{options.url}.substr(colon + 1);
    if (scheme == "ndjson") {
        return open_ndjson(options, rest, clock, log);
    }
    // Only the scheme: what follows may hold a password.
    return invalid(options, "there is no sink for '" + std::string{scheme} + ":'");
}

}  // namespace longhold::sink
