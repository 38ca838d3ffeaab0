#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: tidy.py ROOT. Reads every file of the tree once and reports each breach of a rule as path:line, rule, sentence, reason.

A rule is a function of one file (or of the whole tree) that yields (line, sentence). tidy_self_test.py seeds a breach of each.
"""
import pathlib
import re
import subprocess
import sys

import cpp_text

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 80
PURE_LAYERS = ("base", "core", "config", "sim", "doctor")
SPDX = "SPDX-License-Identifier: Apache-2.0"
SOURCES = (".h", ".cc", ".py", ".sh", ".js", ".mjs", ".cjs")


class File:
    """One file of the tree; `code` is C++ without comments and strings."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.suffix = pathlib.PurePosixPath(path).suffix
        if self.suffix == "" and text.startswith("#!"):
            self.suffix = ".sh" if "sh" in self.lines[0] else ".py"
        self.is_cpp = self.suffix in (".h", ".cc")
        self.code = cpp_text.blank(text).split("\n") if self.is_cpp else []
        parts = path.split("/")
        self.layer = parts[1] if parts[0] == "src" and len(parts) > 2 else None
        self.is_test = parts[0] in ("tests", "bench") or re.search(r"(^|[/_])(test|fuzz|bench)(_\w+)?\.(cc|h)$", path) is not None

    def matches(self, pattern, lines=None):
        for number, line in enumerate(self.lines if lines is None else lines, 1):
            match = re.search(pattern, line)
            if match:
                yield number, match


RULES = []


def rule(reason, whole_tree=False):
    def register(function):
        RULES.append((function.__name__, reason, whole_tree, function))
        return function

    return register


@rule("layers without I/O must build and run without Asio, so that decisions are tested as plain functions")
def no_boost_below_runtime(file):
    if file.is_cpp and file.layer in PURE_LAYERS:
        for number, _ in file.matches(r'#\s*include\s*[<"]boost/'):
            yield number, f"{file.layer} includes Boost"


@rule("every task has an owner that stops and awaits it: spawn it in a runtime::TaskGroup")
def no_detached(file):
    for number, _ in file.matches(r"\bdetached\b", file.code):
        yield number, "a detached task"


@rule("time, chance, threads and the environment come in through runtime and app, so that tests and simulation set them")
def surroundings_only_in_runtime_and_app(file):
    if file.layer in (None, "runtime", "app") or file.is_test:
        return
    for number, match in file.matches(
        r"\w+_clock::now|\bchrono::\w+::now|\bclock_gettime\b|\bgettimeofday\b|\brandom_device\b|\bgetenv\b|\bstd::j?thread\b",
        file.code,
    ):
        yield number, f"{file.layer} names {match[0]}"


@rule("across threads go only values; a lock would couple the threads that the design keeps apart")
def no_mutex_outside_telemetry(file):
    if file.layer in (None, "telemetry") or file.is_test:
        return
    for number, match in file.matches(r"\bstd::(\w*mutex|condition_variable\w*)\b|\bpthread_mutex_\w+", file.code):
        yield number, f"{file.layer} names {match[0]}"


@rule("an ignored Result compiles silently, since libstdc++ 12 does not mark std::expected itself")
def results_are_nodiscard(file):
    if file.suffix == ".h":
        for number, name in cpp_text.results_without_nodiscard(file.text):
            yield number, f"{name} returns a Result without [[nodiscard]]"


@rule("a file or function of this size has more than one job: split it")
def sizes(file):
    if file.suffix in SOURCES and len(file.lines) - 1 > FILE_LINES_MAX:
        yield 1, f"{len(file.lines) - 1} lines; the limit is {FILE_LINES_MAX}"
    if file.is_cpp:
        for first, last, head in cpp_text.functions(file.text):
            if last - first + 1 > FUNCTION_LINES_MAX:
                yield first, f"a function of {last - first + 1} lines; the limit is {FUNCTION_LINES_MAX}: {head[:60]}"


@rule("the licence is told to people and to tools in the first line, or the one after #!")
def licence_first(file):
    if file.suffix in SOURCES:
        first = file.lines[1] if file.lines[0].startswith("#!") and len(file.lines) > 1 else file.lines[0]
        if SPDX not in first:
            yield 1, f"the first line is not the licence line, {SPDX}"


@rule("a marker of unfinished work is work that nobody will find: finish it, or file it")
def no_banned_words(file):
    for number, match in file.matches(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b"):
        yield number, f"the word {match[0]}"


@rule("a build takes packages from whatever registry its machine is set to; a tree that names one breaks elsewhere")
def no_registry_names(file):
    hosts = ("registry.npm" + "js", "registry.yarn" + "pkg", "py" + "pi.org", "python" + "hosted.org", "crates" + ".io",
             "proxy.go" + "lang.org", "repo1.mav" + "en", "deb.deb" + "ian.org", "rubyg" + "ems.org")
    for number, match in file.matches("|".join(map(re.escape, hosts))):
        yield number, f"the registry {match[0]}"


@rule("a path of one machine means nothing on another")
def no_machine_paths(file):
    for number, match in file.matches(r"(?<![\w/.\-])/(?:work|root|home)(?![\w-])"):
        yield number, f"the path {match[0]}"


@rule("a sleep is too short on a slow machine and too long on a fast one: wait for the condition, with a deadline")
def no_sleeps_in_tests(file):
    if not file.is_cpp or not file.is_test:
        return
    # The one place that is allowed: `eventually()` looks again and again until its condition holds or its deadline has passed.
    waits = list(cpp_text.bodies_of(file.text, r"\bbool eventually\("))
    for number, match in file.matches(r"\b(sleep_for|usleep|nanosleep|this_thread::sleep_until)\b", file.code):
        if not any(first <= number <= last for first, last in waits):
            yield number, f"a test calls {match[0]}"


@rule("a file that no CMakeLists.txt names is neither built nor tested", whole_tree=True)
def sources_are_registered(tree):
    for path in tree:
        if not path.endswith(".cc"):
            continue
        folder, named = pathlib.PurePosixPath(path).parent, False
        while not named:
            lists = tree.get(str(folder / "CMakeLists.txt"))
            relative = str(pathlib.PurePosixPath(path).relative_to(folder))
            named = lists is not None and re.search(r"(?<![\w.\-])" + re.escape(relative) + r"(?![\w.\-])", lists.text)
            if folder == folder.parent:
                break
            folder = folder.parent
        if not named:
            yield path, 1, "no CMakeLists.txt names this file"


def anchors(text):
    """The fragments that the headings of a Markdown page make."""
    body = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+\s+(.*?)\s*$", body, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain.lower()).strip())


@rule("a dead link tells the reader that the page is not kept", whole_tree=True)
def doc_links_resolve(tree):
    folders = {str(parent) for path in tree for parent in pathlib.PurePosixPath(path).parents}
    for path, file in tree.items():
        if file.suffix != ".md":
            continue
        for number, match in file.matches(r"\]\((?!\w+:)([^)\s]+)\)"):
            for target in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", file.lines[number - 1]):
                page, _, fragment = target.partition("#")
                parts = []
                for part in (pathlib.PurePosixPath(path).parent / page).parts if page else pathlib.PurePosixPath(path).parts:
                    if part == ".." and parts:
                        parts.pop()
                    elif part != ".":
                        parts.append(part)
                found = "/".join(parts) or "."
                if found not in tree and found not in folders:
                    yield path, number, f"the link {target} leads nowhere"
                elif fragment and found in tree and fragment not in set(anchors(tree[found].text)):
                    yield path, number, f"the link {target} names a heading that is not there"


@rule("a decision that the index does not list is not found when it matters", whole_tree=True)
def decisions_are_indexed(tree):
    index = tree.get("docs/decisions/README.md")
    numbers = []
    for path in sorted(tree):
        match = re.fullmatch(r"docs/decisions/((\d{4})-[a-z0-9-]+\.md)", path)
        if not match:
            continue
        numbers.append(int(match[2]))
        if index is None or f"({match[1]})" not in index.text:
            yield path, 1, "docs/decisions/README.md does not list this decision"
    if numbers != list(range(1, len(numbers) + 1)):
        yield "docs/decisions/README.md", 1, "decisions are not numbered 0001, 0002, … without a gap"


@rule("the two commands are what a newcomer needs first", whole_tree=True)
def readme_shows_the_commands(tree):
    readme = tree.get("README.md")
    for command in ("./dev quickstart", "./dev test"):
        if readme is None or command not in readme.text:
            yield "README.md", 1, f"README.md does not show `{command}`"


@rule("the layer picture is what people go by; it may not differ from what CMake keeps", whole_tree=True)
def layer_picture_is_true(tree):
    page = tree.get("ARCHITECTURE.md")
    for path, file in tree.items():
        if not re.fullmatch(r"src/\w+/CMakeLists\.txt", path):
            continue
        for name, level in re.findall(r"longhold_layer\((\w+)\s+LEVEL\s+(\d+)", file.text):
            if page is None or not re.search(rf"\b{name} {level}\b", page.text):
                yield path, 1, f"ARCHITECTURE.md does not show `{name} {level}`"


@rule("an invariant whose test is gone is a wish", whole_tree=True)
def invariants_name_real_tests(tree):
    cases = {}
    for file in tree.values():
        if file.is_cpp and file.is_test:
            for suite, case in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)", file.text, flags=re.MULTILINE):
                cases.setdefault(suite, set()).add(case)
    page = tree.get("docs/INVARIANTS.md")
    for number, line in enumerate(page.lines if page else [], 1):
        for suite, case in re.findall(r"`(\w+)\.([A-Z]\w+)`", line):
            # A suite of a layer that is not in this tree is nobody's mistake.
            if suite in cases and case not in cases[suite]:
                yield page.path, number, f"there is no test {suite}.{case}"


@rule("a metric that the page lacks is not watched, and one that is gone is watched in vain", whole_tree=True)
def metrics_are_documented(tree):
    path = "docs/operations/metrics.md"
    page = tree.get(path)
    documented = {match[1]: number for number, match in page.matches(r"^\| `(longhold_\w+)` \|")} if page else {}
    used = set()
    for file in tree.values():
        if not file.is_cpp or file.layer is None or file.is_test:
            continue
        for number, match in file.matches(r'"longhold_'):
            for name in re.findall(r'"(longhold_[a-z0-9_]+)"', file.lines[number - 1]):
                if name not in documented and name not in used:
                    yield file.path, number, f"{path} does not list {name}"
                used.add(name)
    for name, number in documented.items():
        if name not in used:
            yield path, number, f"no code has the metric {name}"


def read_tree(root):
    """Every text file that is, or would be, under version control; all files where there is no Git."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=False
    )
    if listing.returncode == 0:
        paths = [path for path in listing.stdout.decode().split("\0") if path]
    else:
        skipped = {".git", "build", "node_modules", "__pycache__", ".cache"}
        paths = [
            str(path.relative_to(root))
            for path in root.rglob("*")
            if path.is_file() and not skipped.intersection(path.relative_to(root).parts)
        ]
    tree = {}
    for path in sorted(paths):
        full = root / path
        if not full.is_file() or full.is_symlink():
            continue
        raw = full.read_bytes()
        if b"\0" not in raw[:4096]:
            tree[path] = File(path, raw.decode("utf-8", "replace"))
    return tree


def breaches(tree):
    """(path, line, rule, sentence, reason) of all that is wrong."""
    for name, reason, whole_tree, function in RULES:
        if whole_tree:
            for path, number, sentence in function(tree):
                yield path, number, name, sentence, reason
        else:
            for path, file in tree.items():
                for number, sentence in function(file):
                    yield path, number, name, sentence, reason


def main():
    tree = read_tree(pathlib.Path(sys.argv[1]))
    found = sorted(breaches(tree))
    for path, number, name, sentence, reason in found:
        print(f"{path}:{number}: {name}: {sentence} ({reason})")
    print(f"{len(tree)} files, {len(RULES)} rules, {len(found)} breaches")
    return 1 if found or not tree else 0


if __name__ == "__main__":
    sys.exit(main())
