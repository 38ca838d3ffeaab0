// SPDX-License-Identifier: Apache-2.0
// How an attempt of `profile try` ended, for people.
#pragma once

#include <longhold/config/problem.h>
#include <longhold/upstream/connection.h>

#include <string>

namespace longhold::app {

// Whether the server ended the connection as it should: without a complaint.
[[nodiscard]] bool ended_normally(const upstream::Ended& ended);

// What went wrong, and what to do about it. `where` names the URL. Requires that something did.
[[nodiscard]] config::Problem problem_of(const upstream::Ended& ended, const std::string& where);

// Status, headers and first bytes of the body of an HTTP answer that refused the upgrade, a line each; empty where
// there was none.
[[nodiscard]] std::string refusal_text(const upstream::Ended& ended);

// "1001", "4001 (\"go away\")", "no code"
[[nodiscard]] std::string close_text(const upstream::Ended& ended);

}  // namespace longhold::app
