// SPDX-License-Identifier: Apache-2.0
// HintMessage: a hint as peers send it to each other: a few lines of text, signed with a key that they share.
//
//   longhold-hint 1
//   kind released
//   from w1-4c1f
//   to w2-77aa
//   about w1-4c1f
//   connection btc-usd
//
// The signature covers the receiver, so that what was signed for one session means nothing to another. It need not
// cover the time: a hint that is sent again costs a read.
#pragma once

#include <longhold/core/hint.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::worker {

struct HintMessage {
    SessionId from;
    SessionId to;
    core::Hint hint;

    friend bool operator==(const HintMessage&, const HintMessage&) = default;
};

[[nodiscard]] std::string encode(const HintMessage& message);
// Errors: a sentence.
[[nodiscard]] std::expected<HintMessage, std::string> decode(std::string_view text);

// What the header field Longhold-Signature carries.
inline constexpr std::string_view signature_field = "Longhold-Signature";
[[nodiscard]] std::string signature_of(std::string_view text, std::string_view key);
// Whether one of `keys` made it.
[[nodiscard]] bool signed_by_any(std::string_view text, std::string_view signature,
                                 const std::vector<std::string>& keys);

}  // namespace longhold::worker
