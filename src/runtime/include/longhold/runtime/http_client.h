// SPDX-License-Identifier: Apache-2.0
// http_request(): one HTTP/1.1 request on a connection of its own. Plain http only, no redirects.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/http.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <cstdint>
#include <expected>
#include <string>

namespace longhold::runtime {

struct HttpCall {
    std::string method = "GET";
    std::string url;  // http://host[:port]/path?query
    HttpFields fields{};
    std::string body{};
    std::uint64_t response_bytes_max = 8 * 1024 * 1024;
};

enum class HttpErrc : std::uint8_t {
    invalid_call,     // the URL or a field cannot be sent: correct it
    unreachable,      // nothing was sent: safe to try again
    unknown_outcome,  // failed after the request was sent, wholly or in part: it may have been carried out
    bad_answer,       // an answer came that breaks HTTP or the limit
};

struct HttpError {
    HttpErrc code = HttpErrc::invalid_call;
    std::string detail;  // names the URL; for people and logs
};

// Any status is a success. Errors as above, also when `deadline` passes. `loop` outlives the call, which runs on its
// thread.
[[nodiscard]] Task<std::expected<HttpResponse, HttpError>> http_request(Loop& loop, HttpCall call, Instant deadline);

}  // namespace longhold::runtime
