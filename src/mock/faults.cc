// SPDX-License-Identifier: Apache-2.0
#include <longhold/mock/faults.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace longhold::mock {
namespace {

// What may be the value of a fault.
enum class ValueForm : std::uint8_t { none, number, garbage, restart };

struct FaultName {
    FaultKind kind;
    std::string_view name;
    ValueForm form;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
};

constexpr std::uint64_t oversize_max = std::uint64_t{1} << 28U;

constexpr std::array fault_names{
    FaultName{FaultKind::mute, "mute", ValueForm::none},
    FaultName{FaultKind::half_open, "half_open", ValueForm::none},
    FaultName{FaultKind::refuse_second, "refuse_second", ValueForm::none},
    FaultName{FaultKind::binary, "binary", ValueForm::none},
    FaultName{FaultKind::slow, "slow", ValueForm::number, 1, 1'000'000'000},
    FaultName{FaultKind::one_byte, "one_byte", ValueForm::none},
    FaultName{FaultKind::status, "status", ValueForm::number, 200, 599},
    FaultName{FaultKind::close, "close", ValueForm::number, 1000, 4999},
    FaultName{FaultKind::drop, "drop", ValueForm::none},
    FaultName{FaultKind::garbage, "garbage", ValueForm::garbage},
    FaultName{FaultKind::oversize, "oversize", ValueForm::number, 64, oversize_max},
    FaultName{FaultKind::restart_sequence, "restart_sequence", ValueForm::restart},
};

constexpr std::array<std::string_view, 5> garbage_names{"reserved_bit", "opcode", "masked", "text", "long_ping"};
constexpr std::array<std::string_view, 2> restart_names{"in_place", "drop"};

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

std::unexpected<std::string> wrong(std::string_view name, std::string_view value, const std::string& wanted) {
    return std::unexpected("fault " + std::string{name} + ": \"" + std::string{value} + "\" is not " + wanted);
}

template <std::size_t Size>
std::string listed(const std::array<std::string_view, Size>& names) {
    std::string out = "one of";
    for (const auto name : names) {
        out += ' ';
        out += name;
    }
    return out;
}

// One of `names`, the first when the value is empty.
template <std::size_t Size>
std::expected<std::uint64_t, std::string> choice(const FaultName& fault, std::string_view value,
                                                 const std::array<std::string_view, Size>& names) {
    if (value.empty()) {
        return 0;
    }
    const auto found = std::ranges::find(names, value);
    if (found == names.end()) {
        return wrong(fault.name, value, listed(names));
    }
    return static_cast<std::uint64_t>(found - names.begin());
}

std::expected<std::uint64_t, std::string> read_value(const FaultName& fault, std::string_view value) {
    switch (fault.form) {
        case ValueForm::none:
            if (!value.empty()) {
                return std::unexpected("fault " + std::string{fault.name} + " takes no value");
            }
            return 0;
        case ValueForm::garbage:
            return choice(fault, value, garbage_names);
        case ValueForm::restart:
            return choice(fault, value, restart_names);
        case ValueForm::number:
            break;
    }
    const auto read = number(value);
    if (!read || *read < fault.least || *read > fault.most) {
        return wrong(fault.name, value,
                     "a number from " + std::to_string(fault.least) + " to " + std::to_string(fault.most));
    }
    return *read;
}

std::expected<void, std::string> modify(Fault& fault, std::string_view name, std::string_view value) {
    const auto read = number(value);
    if (!read) {
        return wrong(name, value, "a number");
    }
    const bool counts_messages = fault.kind != FaultKind::status && fault.kind != FaultKind::refuse_second;
    if (name == "after" && counts_messages) {
        fault.after = *read;
        return {};
    }
    if (name == "times" && !is_lasting(fault.kind)) {
        fault.times = *read;
        return {};
    }
    if (name == "retry_after" && fault.kind == FaultKind::status) {
        fault.retry_after = *read;
        return {};
    }
    return std::unexpected(std::string{name} + " does not apply to the fault " + std::string{text(fault.kind)});
}

std::string unknown(std::string_view name) {
    std::string out = "unknown fault \"" + std::string{name} + "\"; there are";
    for (const auto& fault : fault_names) {
        out += ' ';
        out += fault.name;
    }
    return out + ", and after, times, retry_after behind one";
}

}  // namespace

bool is_lasting(FaultKind kind) {
    return kind < FaultKind::status;
}

std::string_view text(FaultKind kind) {
    return std::ranges::find(fault_names, kind, &FaultName::kind)->name;
}

std::expected<std::vector<Fault>, std::string> parse_faults(const FaultWords& words) {
    std::vector<Fault> faults;
    for (const auto& [name, value] : words) {
        if (name == "after" || name == "times" || name == "retry_after") {
            if (faults.empty()) {
                return std::unexpected(name + " must stand behind the fault that it belongs to");
            }
            if (const auto done = modify(faults.back(), name, value); !done) {
                return std::unexpected(done.error());
            }
            continue;
        }
        const auto* known = std::ranges::find(fault_names, name, &FaultName::name);
        if (known == fault_names.end()) {
            return std::unexpected(unknown(name));
        }
        const auto read = read_value(*known, value);
        if (!read) {
            return std::unexpected(read.error());
        }
        faults.push_back(
            Fault{.kind = known->kind, .value = *read, .times = known->kind == FaultKind::status ? 0U : 1U});
    }
    if (faults.empty()) {
        return std::unexpected("no fault is named");
    }
    return faults;
}

std::expected<FaultRule, std::string> parse_fault_rule(std::string_view rule) {
    const auto colon = rule.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::unexpected("\"" + std::string{rule} +
                               "\" is not a fault rule; write one as 'id-glob:name=value,…'");
    }
    FaultWords words;
    std::string_view rest = rule.substr(colon + 1);
    while (!rest.empty()) {
        const auto comma = std::min(rest.find(','), rest.size());
        const std::string_view word = rest.substr(0, comma);
        const auto equals = std::min(word.find('='), word.size());
        words.emplace_back(word.substr(0, equals), word.substr(std::min(equals + 1, word.size())));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    auto faults = parse_faults(words);
    if (!faults) {
        return std::unexpected("fault rule \"" + std::string{rule} + "\": " + faults.error());
    }
    return FaultRule{std::string{rule.substr(0, colon)}, std::move(*faults)};
}

bool matches(std::string_view glob, std::string_view id) {
    std::size_t at = 0;
    std::size_t star = std::string_view::npos;  // the last star seen, and what it stands for so far
    std::size_t star_end = 0;
    std::size_t in_id = 0;
    while (in_id < id.size()) {
        if (at < glob.size() && glob[at] == '*') {
            star = at++;
            star_end = in_id;
        } else if (at < glob.size() && (glob[at] == '?' || glob[at] == id[in_id])) {
            ++at;
            ++in_id;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            in_id = ++star_end;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace longhold::mock
