// SPDX-License-Identifier: Apache-2.0
// The documentation against the tables of keys and the readers.
#include <gtest/gtest.h>
#include <longhold/config/profile.h>
#include <longhold/config/settings.h>
#include <longhold/config/text_file.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace longhold::config {
namespace {

const std::string root = LONGHOLD_SOURCE_DIR;

std::string keys_table(const std::vector<KeyDescription>& keys, bool with_reload) {
    std::string out = with_reload
                          ? "\n| key | type | default | change by | what it says |\n| --- | --- | --- | --- | --- |\n"
                          : "\n| key | type | default | what it says |\n| --- | --- | --- | --- |\n";
    for (const auto& key : keys) {
        out += "| `" + key.path + "`" + (key.references ? "¹" : "") + " | " + key.type + " | ";
        out += key.preset.empty() ? "absent" : "`" + key.preset + "`";
        out += with_reload ? (key.restart ? " | restart" : " | reload") : "";
        out += " | " + key.summary + " |\n";
    }
    return out + "\n";
}

// Compares the text between the markers of `file` with `want`, or writes it there.
void expect_keys(const std::string& file, const std::string& want) {
    const std::string path = root + "/docs/" + file;
    std::string text = read_text_file(path).value_or("");
    const auto marker = text.find("<!-- keys: ");
    const auto end = text.find("<!-- end of keys -->");
    ASSERT_NE(marker, std::string::npos) << path;
    ASSERT_NE(end, std::string::npos) << path;
    const auto begin = text.find('\n', marker) + 1;
    if (std::getenv("LONGHOLD_REWRITE_DOCS") != nullptr) {
        text.replace(begin, end - begin, want);
        std::ofstream{path} << text;
        return;
    }
    EXPECT_EQ(text.substr(begin, end - begin), want) << "run this test with LONGHOLD_REWRITE_DOCS=1 to write " << path;
}

TEST(Docs, ConfigurationListsEveryKey) {
    expect_keys("configuration.md", keys_table(setting_keys(), true));
}

TEST(Docs, ProfilesListEveryKey) {
    expect_keys("profiles.md", keys_table(profile_keys(), false));
}

struct Block {
    std::string place;
    std::string text;
};

void add_blocks(const std::string& path, std::vector<Block>& blocks) {
    std::istringstream lines{read_text_file(path).value_or("")};
    std::size_t number = 0;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (inside && line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back().text += line + "\n";
        } else if (line == "```toml") {
            inside = true;
            blocks.push_back({path + ":" + std::to_string(number), ""});
        }
    }
}

std::vector<Block> toml_blocks() {
    std::vector<Block> blocks;
    add_blocks(root + "/README.md", blocks);
    for (const auto& entry : std::filesystem::recursive_directory_iterator{root + "/docs"}) {
        if (entry.path().extension() == ".md") {
            add_blocks(entry.path().string(), blocks);
        }
    }
    return blocks;
}

// Profiles have sections that settings do not.
bool looks_like_a_profile(const std::string& text) {
    const auto begins_a_line = [&text](std::string_view words) {
        return text.starts_with(words) || text.find("\n" + std::string{words}) != std::string::npos;
    };
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"description =", "headers =", "[headers]", "[open]", "[sequence]",
                                                "[resume]", "[liveness]", "[limits]", "[tls]", "subprotocols ="},
        begins_a_line);
}

// Every variable that the text refers to.
Environment variables_of(const std::string& text) {
    constexpr std::string_view opening = "${env:";
    Environment environment;
    for (auto at = text.find(opening); at != std::string::npos; at = text.find(opening, at + 1)) {
        const auto name = at + opening.size();
        environment[text.substr(name, text.find('}', name) - name)] = "a value that is long enough";
    }
    return environment;
}

TEST(Docs, EveryTomlBlockIsReadByTheProduct) {
    const auto blocks = toml_blocks();
    EXPECT_GE(blocks.size(), 2U);
    for (const Block& block : blocks) {
        Problems problems;
        if (looks_like_a_profile(block.text)) {
            const auto profile = parse_profile("block", block.text, block.place);
            problems = profile ? Problems{} : profile.error();
        } else {
            SettingsInput input;
            input.file_name = block.place;
            input.file_text = block.text;
            input.sources.environment = variables_of(block.text);
            input.sources.read_file = [](const std::string&) { return std::string{"x"}; };
            const auto settings = load_settings(input);
            problems = settings ? Problems{} : settings.error();
        }
        for (const Problem& problem : problems) {
            ADD_FAILURE() << problem.text();
        }
    }
}

}  // namespace
}  // namespace longhold::config
