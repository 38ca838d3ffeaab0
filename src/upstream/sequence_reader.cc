// SPDX-License-Identifier: Apache-2.0
#include <longhold/upstream/sequence_reader.h>
#include <simdjson.h>

#include <cstring>

namespace longhold::upstream {

struct SequenceReader::Impl {
    simdjson::ondemand::parser parser;
    std::string padded;  // simdjson reads a little past the end
    std::string text;
};

SequenceReader::SequenceReader() : impl_(std::make_unique<Impl>()) {}

SequenceReader::~SequenceReader() = default;

SequenceValue SequenceReader::read(std::string_view message, const std::string& pointer) {
    auto& padded = impl_->padded;
    if (padded.size() < message.size() + simdjson::SIMDJSON_PADDING) {
        padded.resize(2 * (message.size() + simdjson::SIMDJSON_PADDING));
    }
    std::memcpy(padded.data(), message.data(), message.size());
    simdjson::ondemand::document document;
    if (impl_->parser.iterate(padded.data(), message.size(), padded.size()).get(document) != simdjson::SUCCESS) {
        return {};
    }
    simdjson::ondemand::value value;
    if (document.at_pointer(pointer).get(value) != simdjson::SUCCESS) {
        return {};
    }
    simdjson::ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) {
        return {};
    }
    if (type == simdjson::ondemand::json_type::string) {
        std::string_view text;
        if (value.get_string().get(text) != simdjson::SUCCESS) {
            return {};
        }
        return {text, true};
    }
    if (type != simdjson::ondemand::json_type::number) {
        return {};
    }
    std::string_view token = value.raw_json_token();
    token = token.substr(0, token.find_first_of(" \t\r\n,]}"));
    return {token, false};
}

}  // namespace longhold::upstream
