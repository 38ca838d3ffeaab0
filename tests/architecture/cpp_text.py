# SPDX-License-Identifier: Apache-2.0
"""Enough of C++'s grammar to count lines of functions and to look at code without its comments and strings."""
import bisect
import re

_TOKENS = re.compile(
    r"""//[^\n]*                                # line comment
      | /\*.*?\*/                               # block comment
      | R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"   # raw string
      | "(?:\\.|[^"\\\n])*"                     # string
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'     # character, but no digit separator
    """,
    re.VERBOSE | re.DOTALL,
)


def blank(text, keep_strings=False):
    """`text` of the same length and lines, with comments (and strings, but for their quotes) made spaces."""

    def spaces(match):
        token = match[0]
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        if keep_strings:
            return token
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1] if len(token) > 1 else token

    return _TOKENS.sub(spaces, text)


def functions(text):
    """(first line, last line, head) of each function; lambdas and local classes count as part of the function around them."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m[0]), blank(text), flags=re.MULTILINE)
    starts = [0] + [match.end() for match in re.finditer("\n", code)]
    found, stack, head_at = [], [], 0
    for match in re.finditer(r"[{};]|(?:public|private|protected):", code):
        token = match[0]
        inside_function = any(kind != "scope" for kind, _, _ in stack)
        if token == "{":
            head = " ".join(code[head_at : match.start()].split())
            if inside_function:
                kind = "inner"
            elif re.search(r"\b(namespace|extern)\b", head) or re.search(r"\b(class|struct|union|enum)\b[^()]*$", head):
                kind = "scope"
            else:
                kind = "function" if "(" in head else "inner"
            first = head_at + len(code[head_at : match.start()]) - len(code[head_at : match.start()].lstrip())
            stack.append((kind, first, head))
        elif token == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function" and not any(outer == "function" for outer, _, _ in stack):
                found.append((bisect.bisect_right(starts, first), bisect.bisect_right(starts, match.start()), head))
        if not inside_function or not stack:
            head_at = match.end()
    return found


def bodies_of(text, head):
    """(first line, last line) of the body of each function whose head matches `head`, a pattern that ends with its `(`."""
    code = blank(text)

    def end_of(at, opening, closing):
        depth = 0
        for match in re.finditer(re.escape(opening) + "|" + re.escape(closing), code[at:]):
            depth += 1 if match[0] == opening else -1
            if depth == 0:
                return at + match.end()
        return len(code)

    for match in re.finditer(head, code):
        after = end_of(match.end() - 1, "(", ")")
        qualifiers = re.match(r"[\s\w]*(?=\{)", code[after:])
        if qualifiers:  # or else it is only declared
            opens = after + qualifiers.end()
            yield code.count("\n", 0, opens) + 1, code.count("\n", 0, end_of(opens, "{", "}")) + 1


def results_without_nodiscard(text):
    """(line, declaration) of each function that returns a Result or an expected and does not say [[nodiscard]].

    An override may leave it out: callers go through the interface.
    """
    code = blank(text)
    found = []
    for match in re.finditer(r"(?<![\w:<])(?:(?:\w+::)*Result|std::expected)\s*<", code):
        depth, at = 1, match.end()
        while depth > 0 and at < len(code):
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            at += 1
        name = re.match(r"\s*&?\s*((?:\w+::)*\w+|operator[^\s(]+)\s*\(", code[at:])
        before = re.split(r"[;{}]|(?:public|private|protected):|\n\s*#[^\n]*", code[: match.start()])[-1]
        before = re.sub(r"template\s*<[^;{}]*?>\s*(?=\[\[|static|virtual|constexpr|inline|friend|$)", "", before)
        leads = re.fullmatch(r"\s*(?:\[\[\w+\]\]\s*|static\s+|virtual\s+|constexpr\s+|inline\s+|friend\s+|explicit\s+)*", before)
        overrides = re.match(r"[^;{}]*\boverride\b", code[at:])
        if name and leads and not overrides and "[[nodiscard]]" not in before:
            found.append((code.count("\n", 0, match.start()) + 1, name[1]))
    return found
