// SPDX-License-Identifier: Apache-2.0
// References to secrets inside text: `${env:NAME}` and `${file:PATH}`. `$${` stands for a plain `${`.
#pragma once

#include <longhold/config/text_file.h>

#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace longhold::config {

using Environment = std::map<std::string, std::string, std::less<>>;

// Where references are looked up.
struct ReferenceSources {
    Environment environment;
    FileReader read_file;
};

// Whether `text` has a reference, well-formed or not.
[[nodiscard]] bool has_reference(std::string_view text);

// Replaces each reference by its value; a file's value loses one newline at its end. Errors: a sentence that names the
// reference, never a value.
[[nodiscard]] std::expected<std::string, std::string> resolve_references(std::string_view text,
                                                                         const ReferenceSources& sources);

// Checks the form of each reference without looking it up.
[[nodiscard]] std::expected<void, std::string> check_references(std::string_view text);

// Replaces each reference by `stand_in`, to check the form of what is around them. Requires check_references().
[[nodiscard]] std::string with_stand_in(std::string_view text, std::string_view stand_in);

// `url` with the password of its user information replaced by `***`; a password that is a reference stays.
[[nodiscard]] std::string without_password(std::string_view url);

}  // namespace longhold::config
