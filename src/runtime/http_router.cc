// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/runtime/http_router.h>

#include <optional>
#include <set>

namespace longhold::runtime {
namespace {

Task<HttpResponse> answer_now(const HttpHandler& handler, HttpRequest request) {
    co_return handler(request);
}

Task<HttpResponse> ready(HttpResponse response) {
    co_return response;
}

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> segments;
    while (!path.empty()) {
        path.remove_prefix(1);  // the slash
        const std::string_view segment = path.substr(0, path.find('/'));
        segments.emplace_back(segment);
        path.remove_prefix(segment.size());
    }
    return segments;
}

bool is_variable(std::string_view segment) {
    return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

// The variables' values when `path` matches `pattern`. Both decoded.
std::optional<decltype(HttpRequest::path_values)> match(const std::vector<std::string>& pattern,
                                                        const std::vector<std::string>& path) {
    if (pattern.size() != path.size()) {
        return std::nullopt;
    }
    decltype(HttpRequest::path_values) values;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (is_variable(pattern[i])) {
            if (path[i].empty()) {
                return std::nullopt;
            }
            values.emplace(pattern[i].substr(1, pattern[i].size() - 2), path[i]);
        } else if (pattern[i] != path[i]) {
            return std::nullopt;
        }
    }
    return values;
}

std::string join(const std::set<std::string>& words) {
    std::string text;
    for (const auto& word : words) {
        text += text.empty() ? word : ", " + word;
    }
    return text;
}

}  // namespace

HttpTaskHandler as_task(HttpHandler handler) {
    return [handler = std::move(handler)](HttpRequest request) { return answer_now(handler, std::move(request)); };
}

void HttpRouter::add(std::string_view method, std::string_view pattern, HttpHandler handler) {
    add_task(method, pattern, as_task(std::move(handler)));
}

void HttpRouter::add_task(std::string_view method, std::string_view pattern, HttpTaskHandler handler) {
    invariant(pattern.starts_with('/'), "a route's pattern is a path");
    routes_.push_back(Route{std::string{method}, split(pattern), std::move(handler)});
}

Task<HttpResponse> HttpRouter::answer(HttpRequest request) const {
    if (!request.path.starts_with('/')) {
        return ready(problem_response(400, "The request's target is no path."));
    }
    auto segments = split(request.path);
    for (auto& segment : segments) {
        auto decoded = percent_decode(segment);
        if (!decoded) {
            return ready(problem_response(400, "The path holds a broken percent escape."));
        }
        segment = std::move(*decoded);
    }
    std::set<std::string> allowed;
    for (const Route& route : routes_) {
        auto values = match(route.segments, segments);
        if (!values) {
            continue;
        }
        if (route.method == request.method || (route.method == "GET" && request.method == "HEAD")) {
            request.path_values = std::move(*values);
            return route.handler(std::move(request));
        }
        allowed.insert(route.method);
        if (route.method == "GET") {
            allowed.insert("HEAD");
        }
    }
    if (allowed.empty()) {
        return ready(problem_response(404, "Nothing is served at " + request.path + "."));
    }
    const std::string list = join(allowed);
    auto refusal = problem_response(405, request.path + " allows " + list + ", not " + request.method + ".");
    refusal.fields.emplace_back("Allow", list);
    return ready(std::move(refusal));
}

}  // namespace longhold::runtime
