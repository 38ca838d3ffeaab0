// SPDX-License-Identifier: Apache-2.0
// ConnectionDocument: one connection as `connection export` writes it and `connection import` reads it.
//
//   {"id":"btc-usd","labels":{"venue":"x"},"spec":{"url":"wss://feed.example/ws"},"desired_state":"STARTED"}
#pragma once

#include <longhold/config/connection_spec.h>
#include <longhold/config/problem.h>

#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::config {

struct ConnectionDocument {
    std::string id;
    std::map<std::string, std::string> labels;
    ConnectionSpec spec;
    std::string desired_state = "STARTED";  // or "STOPPED"
    std::size_t line = 0;                   // where it begins in what it was read from

    friend bool operator==(const ConnectionDocument&, const ConnectionDocument&) = default;
};

// Reads NDJSON, or one JSON array, of documents. Errors: all problems, with lines; an id that occurs twice names both
// lines.
[[nodiscard]] std::expected<std::vector<ConnectionDocument>, Problems> parse_connection_documents(
    std::string_view text, std::string_view source);

}  // namespace longhold::config
