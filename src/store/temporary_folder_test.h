// SPDX-License-Identifier: Apache-2.0
// A folder of one's own that is removed with its files.
#pragma once

#include <gtest/gtest.h>
#include <longhold/base/invariant.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace longhold::store {

class TemporaryFolder {
public:
    TemporaryFolder() : path_(testing::TempDir() + "longhold-store-XXXXXX") {
        invariant(::mkdtemp(path_.data()) != nullptr, "a temporary folder can be made");
    }

    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

    [[nodiscard]] std::string path(std::string_view name) const { return path_ + "/" + std::string{name}; }

private:
    std::string path_;
};

}  // namespace longhold::store
