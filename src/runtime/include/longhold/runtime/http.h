// SPDX-License-Identifier: Apache-2.0
// HTTP messages as values, for the server and the client.
//
// Values; no thread-safety beyond that.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhold::runtime {

// Fields in the order of the message. Names are matched without regard to case.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The first field of that name.
[[nodiscard]] std::optional<std::string_view> find_field(const HttpFields& fields, std::string_view name);

struct HttpRequest {
    std::string method;
    std::string target;  // as sent, with the query
    std::string path;    // before "?", still percent-encoded
    std::string query;   // after "?"
    HttpFields fields{};
    std::string body{};
    std::string peer{};  // the client's address and port
    // Set by HttpRouter: the decoded values of the pattern's `{name}` segments.
    std::map<std::string, std::string, std::less<>> path_values{};

    // The decoded value of the first `name=value` of the query.
    [[nodiscard]] std::optional<std::string> query_value(std::string_view name) const;
};

struct HttpResponse {
    int status = 200;
    HttpFields fields{};  // without Content-Length, Connection and Date, which the server sets
    std::string body{};
};

// Decodes `%XX`, and `+` as a space where `plus_is_space`. Nothing when an escape is cut off or no hexadecimal number.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

[[nodiscard]] HttpResponse text_response(int status, std::string body);
[[nodiscard]] HttpResponse json_response(int status, std::string body);

// A problem document (RFC 9457) of type "about:blank": its title is the reason phrase of `status`. `detail` tells
// people what is wrong with this request and what to do; bytes that are no ASCII are replaced.
[[nodiscard]] HttpResponse problem_response(int status, std::string_view detail);

[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace longhold::runtime
