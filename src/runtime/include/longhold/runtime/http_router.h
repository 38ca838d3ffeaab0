// SPDX-License-Identifier: Apache-2.0
// HttpRouter: finds the handler of a request by method and path.
#pragma once

#include <longhold/runtime/http.h>
#include <longhold/runtime/task.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::runtime {

// Answers one request; runs on the server's loop. A handler that waits is a task, and may be cancelled at any co_await.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;
using HttpTaskHandler = std::function<Task<HttpResponse>(HttpRequest)>;

// Makes a task of a handler that does not wait.
[[nodiscard]] HttpTaskHandler as_task(HttpHandler handler);

// Thread-safety: none; add all routes, then use it on one loop. Outlives the tasks that it returns.
class HttpRouter {
public:
    // `pattern` is a path whose segments are fixed texts or `{name}`: "/api/v1/connections/{id}". The first route that
    // matches answers. A route for GET answers HEAD too. `method` in capitals.
    void add(std::string_view method, std::string_view pattern, HttpHandler handler);
    void add_task(std::string_view method, std::string_view pattern, HttpTaskHandler handler);

    // 404 when no pattern matches, 405 with Allow when one does but for other methods, 400 when an escape in the path
    // is broken.
    [[nodiscard]] Task<HttpResponse> answer(HttpRequest request) const;

private:
    struct Route {
        std::string method;
        std::vector<std::string> segments;
        HttpTaskHandler handler;
    };

    std::vector<Route> routes_;
};

}  // namespace longhold::runtime
