// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/runtime/http.h>

#include <algorithm>
#include <array>

namespace longhold::runtime {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, {}, lower, lower);
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char small = lower(c);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

}  // namespace

std::optional<std::string_view> find_field(const HttpFields& fields, std::string_view name) {
    for (const auto& [field_name, value] : fields) {
        if (same_name(field_name, name)) {
            return value;
        }
    }
    return std::nullopt;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            if (i + 2 >= text.size()) {
                return std::nullopt;
            }
            const int high = hex_value(text[i + 1]);
            const int low = hex_value(text[i + 2]);
            if (high < 0 || low < 0) {
                return std::nullopt;
            }
            decoded.push_back(static_cast<char>(high * 16 + low));
            i += 2;
        } else {
            decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
        }
    }
    return decoded;
}

std::optional<std::string> HttpRequest::query_value(std::string_view name) const {
    std::string_view rest = query;
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        if (percent_decode(pair.substr(0, equals), true) == name) {
            return percent_decode(pair.substr(std::min(pair.size(), equals + 1)), true);
        }
    }
    return std::nullopt;
}

HttpResponse text_response(int status, std::string body) {
    return HttpResponse{status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

HttpResponse json_response(int status, std::string body) {
    return HttpResponse{status, {{"Content-Type", "application/json"}}, std::move(body)};
}

HttpResponse problem_response(int status, std::string_view detail) {
    std::string ascii{detail};
    std::ranges::replace_if(ascii, [](char c) { return static_cast<unsigned char>(c) >= 0x80U; }, '?');
    JsonWriter json;
    json.begin_object().key("type").value("about:blank").key("title").value(reason_phrase(status));
    json.key("status").value(status).key("detail").value(ascii).end_object();
    return HttpResponse{status, {{"Content-Type", "application/problem+json"}}, json.take() + "\n"};
}

std::string_view reason_phrase(int status) {
    struct Phrase {
        int status;
        std::string_view text;
    };

    static constexpr std::array phrases{
        Phrase{200, "OK"},
        Phrase{201, "Created"},
        Phrase{202, "Accepted"},
        Phrase{204, "No Content"},
        Phrase{304, "Not Modified"},
        Phrase{400, "Bad Request"},
        Phrase{401, "Unauthorized"},
        Phrase{403, "Forbidden"},
        Phrase{404, "Not Found"},
        Phrase{405, "Method Not Allowed"},
        Phrase{408, "Request Timeout"},
        Phrase{409, "Conflict"},
        Phrase{411, "Length Required"},
        Phrase{412, "Precondition Failed"},
        Phrase{413, "Content Too Large"},
        Phrase{415, "Unsupported Media Type"},
        Phrase{417, "Expectation Failed"},
        Phrase{422, "Unprocessable Content"},
        Phrase{429, "Too Many Requests"},
        Phrase{431, "Request Header Fields Too Large"},
        Phrase{500, "Internal Server Error"},
        Phrase{501, "Not Implemented"},
        Phrase{502, "Bad Gateway"},
        Phrase{503, "Service Unavailable"},
        Phrase{504, "Gateway Timeout"},
        Phrase{505, "HTTP Version Not Supported"},
    };
    const auto* found = std::ranges::find(phrases, status, &Phrase::status);
    return found == phrases.end() ? "Unknown" : found->text;
}

}  // namespace longhold::runtime
