// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/connection_document.h>
#include <longhold/config/names.h>

#include <algorithm>
#include <array>

#include "key_table.h"
#include "spec_document.h"

namespace longhold::config {
namespace {

// One document's text and the line on which it begins.
struct Item {
    std::string_view text;
    std::size_t line = 1;
};

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::vector<Item> split_lines(std::string_view text) {
    std::vector<Item> items;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const auto end = text.find('\n');
        const auto one = text.substr(0, end);
        if (!std::ranges::all_of(one, is_space)) {
            items.push_back({one, line});
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return items;
}

// Finds the elements of a JSON array by their brackets, so that each problem has its line; what is inside an element is
// checked by the JSON parser.
class ArraySplitter {
public:
    explicit ArraySplitter(std::string_view text) : text_(text) {}

    // Errors: why the text is no array.
    std::expected<std::vector<Item>, std::string> split() {
        while (at_ < text_.size() && !ended_) {
            step(text_[at_]);
            ++at_;
        }
        if (!ended_) {
            return std::unexpected("the array has no end");
        }
        if (!std::ranges::all_of(text_.substr(at_), is_space)) {
            return std::unexpected("text follows the array on line " + std::to_string(line_));
        }
        return std::move(items_);
    }

private:
    void step(char c) {
        line_ += c == '\n' ? 1 : 0;
        if (in_string_) {
            in_string_ = escaped_ || c != '"';
            escaped_ = !escaped_ && c == '\\';
            return;
        }
        if (c == '"') {
            in_string_ = true;
        }
        if (depth_ == 1 && (c == ',' || c == ']')) {
            finish_item(c == ']');
        } else if (depth_ == 1 && !is_space(c) && !begun_) {
            begun_ = true;
            item_from_ = at_;
            item_line_ = line_;
        }
        if (c == '[' || c == '{') {
            ++depth_;
        } else if (c == ']' || c == '}') {
            --depth_;
            ended_ = depth_ == 0;
        }
    }

    void finish_item(bool last) {
        if (begun_ || !last || !items_.empty()) {
            items_.push_back(begun_ ? Item{text_.substr(item_from_, at_ - item_from_), item_line_} : Item{"", line_});
        }
        begun_ = false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t item_from_ = 0;
    std::size_t item_line_ = 1;
    int depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    bool begun_ = false;
    bool ended_ = false;
    std::vector<Item> items_;
};

struct DocumentReader {
    const std::string& where;
    Problems& problems;

    void report(std::string what, std::string remedy) const {
        problems.push_back({.what = std::move(what), .where = where, .remedy = std::move(remedy)});
    }

    void report(const std::string& sentence) const {
        auto complaint = complaint_from(sentence);
        report(std::move(complaint.what), std::move(complaint.remedy));
    }

    void text(const std::string& key, const Node& node, std::string& out) const {
        if (const auto* value = node.text()) {
            out = *value;
        } else {
            report(key + " must be a string, not " + type_name(node), "put it in quotes");
        }
    }

    void labels(const Node& node, std::map<std::string, std::string>& out) const {
        const auto* table = node.table();
        if (table == nullptr) {
            report("labels must be an object of strings, not " + type_name(node), R"(write it like {"region":"eu"})");
            return;
        }
        if (table->size() > labels_max) {
            report("labels has " + std::to_string(table->size()) + " entries", "keep at most 64");
            return;
        }
        for (const auto& [key, value] : *table) {
            const auto* label = value.text();
            if (label == nullptr) {
                report("labels." + key + " must be a string, not " + type_name(value), "put it in quotes");
            } else if (const auto checked = check_label(key, *label); !checked) {
                report(checked.error());
            } else {
                out[key] = *label;
            }
        }
    }

    void visit(const std::string& key, const Node& node, ConnectionDocument& document) const {
        if (key == "id") {
            text(key, node, document.id);
        } else if (key == "labels") {
            labels(node, document.labels);
        } else if (key == "desired_state") {
            text(key, node, document.desired_state);
        } else if (auto spec = spec_from_node(node, where)) {
            document.spec = std::move(*spec);
        } else {
            problems.insert(problems.end(), spec.error().begin(), spec.error().end());
        }
    }

    [[nodiscard]] ConnectionDocument read(const Node& root) const {
        static const std::array<std::string, 4> keys{"id", "labels", "spec", "desired_state"};
        ConnectionDocument document;
        walk_keys(root, keys, where, problems,
                  [&](const std::string& key, const Node& node) { visit(key, node, document); });
        const auto* table = root.table();
        if (table == nullptr) {
            return document;
        }
        if (const auto checked = check_connection_id(document.id); !checked) {
            report(checked.error());
        }
        if (!table->contains("spec")) {
            report("the document has no spec", R"(add "spec":{"url":"wss://…"})");
        }
        if (document.desired_state != "STARTED" && document.desired_state != "STOPPED") {
            report("desired_state is \"" + document.desired_state + "\"", "use STARTED or STOPPED");
        }
        return document;
    }
};

void check_unique(const std::vector<ConnectionDocument>& documents, const std::string& source, Problems& problems) {
    std::map<std::string, std::size_t> seen;
    for (const auto& document : documents) {
        const auto [first, fresh] = seen.emplace(document.id, document.line);
        if (!fresh && !document.id.empty()) {
            problems.push_back({.what = "the connection id \"" + document.id + "\" occurs twice, on lines " +
                                        std::to_string(first->second) + " and " + std::to_string(document.line),
                                .where = source + ":" + std::to_string(document.line),
                                .remedy = "remove one of the two"});
        }
    }
}

}  // namespace

std::expected<std::vector<ConnectionDocument>, Problems> parse_connection_documents(std::string_view text,
                                                                                    std::string_view source) {
    const std::string name{source};
    const auto first = std::ranges::find_if_not(text, is_space);
    std::vector<Item> items;
    if (first != text.end() && *first == '[') {
        auto split = ArraySplitter{text}.split();
        if (!split) {
            return std::unexpected(Problems{{.what = "this is not one JSON array: " + split.error(),
                                             .where = name,
                                             .remedy = "give one JSON array, or one document per line"}});
        }
        items = std::move(*split);
    } else {
        items = split_lines(text);
    }
    std::vector<ConnectionDocument> documents;
    Problems problems;
    for (const Item& item : items) {
        const std::string where = name + ":" + std::to_string(item.line);
        const auto root = parse_json(item.text, where);
        if (!root) {
            problems.push_back(root.error());
            problems.back().remedy = "give one JSON array, or one whole document per line";
            continue;
        }
        documents.push_back(DocumentReader{where, problems}.read(*root));
        documents.back().line = item.line;
    }
    check_unique(documents, name, problems);
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    return documents;
}

}  // namespace longhold::config
