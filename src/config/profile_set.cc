// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/profile.h>
#include <longhold/config/text_file.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace longhold::config {
namespace {

// Paths of `directory`/*.toml, sorted.
std::expected<std::vector<std::filesystem::path>, std::string> toml_files(const std::string& directory) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    std::filesystem::directory_iterator entry{directory, error};
    while (!error && entry != std::filesystem::directory_iterator{}) {
        if (entry->path().extension() == ".toml") {
            paths.push_back(entry->path());
        }
        entry.increment(error);
    }
    if (error) {
        return std::unexpected(error.message());
    }
    std::ranges::sort(paths);
    return paths;
}

void add(ProfileSet& set, const std::string& name, std::string_view text, const std::string& source,
         Problems& problems) {
    if (set.contains(name)) {
        problems.push_back({.what = "the profile " + name + " is shipped with this program already",
                            .where = source,
                            .remedy = "give the file another name"});
        return;
    }
    auto profile = parse_profile(name, text, source);
    if (profile) {
        set.emplace(name, std::move(*profile));
    } else {
        problems.insert(problems.end(), profile.error().begin(), profile.error().end());
    }
}

}  // namespace

std::expected<ProfileSet, Problems> load_profiles(const std::string& directory) {
    ProfileSet set;
    Problems problems;
    for (const auto& [name, text] : shipped_profiles()) {
        add(set, name, text, "shipped profile " + name, problems);
    }
    if (!directory.empty()) {
        const auto files = toml_files(directory);
        if (!files) {
            problems.push_back({.what = "the profiles cannot be listed: " + files.error(),
                                .where = directory,
                                .remedy = "correct profiles.directory, or create the directory"});
            return std::unexpected(std::move(problems));
        }
        for (const auto& path : *files) {
            if (const auto text = read_text_file(path.string())) {
                add(set, path.stem().string(), *text, path.string(), problems);
            } else {
                problems.push_back({.what = "the profile cannot be read: " + text.error(),
                                    .where = path.string(),
                                    .remedy = "correct its permissions, or remove it"});
            }
        }
    }
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    return set;
}

}  // namespace longhold::config
