// SPDX-License-Identifier: Apache-2.0
// Overloaded: several functions as one, for std::visit: Overloaded{[](int) {…}, [](const std::string&) {…}}.
#pragma once

namespace longhold {

template <class... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};

}  // namespace longhold
