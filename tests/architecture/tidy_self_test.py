#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that each rule of tidy.py sees a breach, and that a sound tree has none."""
import sys

import tidy

LICENCE = f"// {tidy.SPDX}\n"

SOUND = {
    "README.md": "# A\n\n`./dev quickstart`, `./dev test`, [how](ARCHITECTURE.md#the-layers)\n",
    "ARCHITECTURE.md": "# Architecture\n\n## The layers\n\nbase 0 · core 1\n",
    "docs/decisions/README.md": "[one](0001-one.md)\n",
    "docs/decisions/0001-one.md": "# One\n",
    "src/base/CMakeLists.txt": "longhold_layer(base LEVEL 0 SOURCES x.cc x_test.cc deep/y.cc deep/metrics.cc)\n",
    "src/base/x.cc": LICENCE + "// A detached remark about std::chrono::steady_clock::now.\nint f() {\n    return 1'000;\n}\n",
    "src/base/deep/y.cc": LICENCE + 'const char* text = "detached getenv";\n',
    "src/base/include/longhold/base/x.h": LICENCE
    + "[[nodiscard]] Result<int> read();\nclass A {\npublic:\n    [[nodiscard]] static std::expected<int, E> make(Result<int> r);\n"
    "    virtual Task<Result<int>> wait() = 0;\n    Result<int> member_;\n};\n",
    "src/base/x_test.cc": LICENCE + "TEST(X, Holds) {\n}\n",
    "docs/INVARIANTS.md": "`X.Holds`\n",
    "docs/operations/metrics.md": "| `longhold_held` | gauge |\n",
    "src/base/deep/metrics.cc": LICENCE + 'auto& held = gauge("longhold_held");\n',
    "src/runtime/CMakeLists.txt": "longhold_layer(runtime_is_not_checked_here SOURCES clock.cc)\n",
    "src/runtime/clock.cc": LICENCE + "#include <boost/asio.hpp>\nauto t = std::chrono::steady_clock::now();\n",
    "tools/x.sh": f"#!/usr/bin/env bash\n# {tidy.SPDX}\nmktemp /tmp/a.XXXXXX\n",
}

LONG_FUNCTION = "void f() {\n" + "    g([] { h(); });\n" * 79 + "}\n"
LAST_ALLOWED_FUNCTION = "void f() {\n" + "    g([] { h(); });\n" * 78 + "}\n"
LONG_TABLE = "constexpr int table[] = {\n" + "    1,\n" * 100 + "};\n"
EVENTUALLY = (
    "bool eventually(const std::function<bool()>& holds, int count = limit());\n"
    "bool eventually(const std::function<bool()>& holds, int count) {\n"
    "    while (!holds()) {\n        // {\n        ::usleep(1000);\n    }\n    return true;\n}\n"
)
X = "src/base/x.cc"
H = "src/base/include/longhold/base/x.h"

# rule, file, what it holds instead
SEEDS = [
    ("no_boost_below_runtime", X, LICENCE + "#include <boost/asio.hpp>\n"),
    ("no_detached", X, LICENCE + "co_spawn(loop, task(), asio::detached);\n"),
    ("surroundings_only_in_runtime_and_app", X, LICENCE + "auto t = std::chrono::steady_clock::now();\n"),
    ("surroundings_only_in_runtime_and_app", X, LICENCE + "std::random_device device;\n"),
    ("surroundings_only_in_runtime_and_app", X, LICENCE + 'auto* home = std::getenv("HOME");\n'),
    ("surroundings_only_in_runtime_and_app", X, LICENCE + "std::jthread thread;\n"),
    ("no_mutex_outside_telemetry", X, LICENCE + "std::mutex lock;\n"),
    ("no_mutex_outside_telemetry", X, LICENCE + "std::condition_variable_any wake;\n"),
    ("results_are_nodiscard", H, LICENCE + "Result<int> read();\n"),
    ("results_are_nodiscard", H, LICENCE + "class A {\npublic:\n    static store::Result<std::map<int, int>> read(int x);\n};\n"),
    ("results_are_nodiscard", H, LICENCE + "class A {\n    void f();\n    virtual std::expected<void, E>\n        g() = 0;\n};\n"),
    ("results_are_nodiscard", H, LICENCE + "template <class T>\nstd::expected<T, E> parse(int x) {\n    return x;\n}\n"),
    ("sizes", X, LICENCE + "\n" * tidy.FILE_LINES_MAX),
    ("sizes", X, LICENCE + "namespace a {\nclass B {\n" + LONG_FUNCTION + "};\n}\n"),
    ("sizes", X, LICENCE + "TEST(A, B) {\n" + "    if (x) {\n    }\n" * 40 + "}\n"),
    ("licence_first", X, "\n" + LICENCE),
    ("licence_first", "tools/x.sh", "#!/usr/bin/env bash\necho\n"),
    ("no_banned_words", X, LICENCE + "// TO" + "DO: later\n"),
    ("no_banned_words", "README.md", SOUND["README.md"] + "FIX" + "ME\n"),
    ("no_registry_names", "tools/x.sh", SOUND["tools/x.sh"] + "curl https://registry.npm" + "js.org/ws\n"),
    ("no_machine_paths", X, LICENCE + '// see "/ro' + 'ot/notes"\n'),
    ("no_machine_paths", "README.md", SOUND["README.md"] + "cd /ho" + "me/me/longhold\n"),
    ("no_sleeps_in_tests", "src/base/deep/y_test.cc", LICENCE + "std::this_thread::sleep_for(1s);\n"),
    ("no_sleeps_in_tests", "src/base/x_test.cc", LICENCE + EVENTUALLY + "TEST(X, Holds) {\n    ::usleep(1000);\n}\n"),
    ("no_sleeps_in_tests", "src/base/x_test.cc", LICENCE + "TEST(X, Holds) {\n    ::usleep(1000);\n}\n" + EVENTUALLY),
    ("no_sleeps_in_tests", "src/base/x_test.cc", LICENCE + "bool eventually(F f);\nTEST(X, Holds) {\n    ::usleep(1000);\n}\n"),
    ("sources_are_registered", "src/base/z.cc", LICENCE),
    ("sources_are_registered", "src/base/deep/x.cc", LICENCE),
    ("sources_are_registered", "src/base/deep/y_test.cc", LICENCE),
    ("doc_links_resolve", "docs/a.md", "[gone](b.md)\n"),
    ("doc_links_resolve", "docs/a.md", "[there](../README.md) [gone](../ARCHITECTURE.md#the-doors)\n"),
    ("decisions_are_indexed", "docs/decisions/0002-two.md", "# Two\n"),
    ("decisions_are_indexed", "docs/decisions/0003-three.md", "# Three\n"),
    ("readme_shows_the_commands", "README.md", "`./dev test`\n"),
    ("invariants_name_real_tests", "docs/INVARIANTS.md", "`X.Holds` and `X.Shines`\n"),
    ("metrics_are_documented", X, LICENCE + 'auto& lost = counter("longhold_lost_total", {{"reason", why}});\n'),
    ("metrics_are_documented", "src/base/deep/metrics.cc", LICENCE),
    ("metrics_are_documented", "docs/operations/metrics.md", SOUND["docs/operations/metrics.md"] + "| `longhold_gone` | gauge |\n"),
    ("layer_picture_is_true", "ARCHITECTURE.md", "## The layers\n\nbase 1\n"),
]

# What must not be taken for a breach.
SOUND_VARIANTS = [
    (X, LICENCE + LAST_ALLOWED_FUNCTION),
    (X, LICENCE + LONG_TABLE),
    (X, LICENCE + "namespace a {\n" + "void f() {\n}\n" * 100 + "}\n"),
    (X, LICENCE + 'const char* text = R"(std::mutex " { {)";\n'),
    (X, LICENCE + "// read/work, and see https://example.org/home\n"),
    (H, LICENCE + "class A final : public B {\n    Result<int> read() override;\n    std::expected<int, E> f(\n        int x) override {}\n};\n"),
    ("src/base/deep/y.cc", LICENCE + "std::expected<int, E> hidden() {\n}\n"),
    ("src/base/x_test.cc", LICENCE + 'metrics.counter("longhold_nonsense_total");\n'),
    ("src/base/x_test.cc", LICENCE + EVENTUALLY + "TEST(X, Holds) {\n    EXPECT_TRUE(eventually([] { return true; }, 3));\n}\n"),
    (H, LICENCE + "template <class T>\nusing Result = std::expected<T, Error>;\nvoid f(Result<int> r, std::expected<int, E> e);\n"),
]


def rules_broken(change):
    path, text = change
    texts = {**SOUND, path: text}
    return {
        (name, where)
        for where, _, name, _, _ in tidy.breaches({p: tidy.File(p, t) for p, t in texts.items()})
    }


def main():
    failures = []
    for change in [("README.md", SOUND["README.md"]), *SOUND_VARIANTS]:
        broken = rules_broken(change)
        if broken:
            failures.append(f"sound text in {change[0]} was refused: {sorted(broken)}\n{change[1][:200]}")
    for name, path, text in SEEDS:
        if name not in {broken for broken, _ in rules_broken((path, text))}:
            failures.append(f"{name} did not see its breach in {path}:\n{text[:200]}")
    for name, _, _, _ in tidy.RULES:
        if name not in {seeded for seeded, _, _ in SEEDS}:
            failures.append(f"{name} has no seeded breach")
    print(*failures, f"{len(tidy.RULES)} rules, {len(SEEDS)} seeds, {len(failures)} failures", sep="\n")
    return 1 if failures else 0


sys.exit(main())
