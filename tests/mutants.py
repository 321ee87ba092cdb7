# SPDX-License-Identifier: MIT
"""What can be changed in a C source, and which of these changes are argued to change nothing. For mutate.py."""
import difflib
import hashlib
import os
import re
import sys
import textwrap
from collections import namedtuple

# ---- where something can be changed ---------------------------------------------------------------------------------

# begin and end are offsets into the text; what stands there becomes `new`. change: "== to !=", in words for the reader.
Mutant = namedtuple("Mutant", "id file line text change begin end new")

SWAPS = {
    "==": ["!="], "!=": ["=="], "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "&&": ["||"], "||": ["&&"], "++": ["--"], "--": ["++"], "+=": ["-="], "-=": ["+="], "|=": ["&="], "!": [""],
    "true": ["false"], "false": ["true"], "0": ["1"], "1": ["0"],
}  # fmt: skip
BINARY = {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"]}
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|\+\+|--|<<=|>>=|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^]=|[^\s\w]")
TYPES = "struct enum union static extern const unsigned signed char int long short float double void bool typedef".split()
NO_STATEMENT = {"if", "for", "while", "do", "switch", "case", "default", "else", "goto", "sizeof", *TYPES}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """The text with spaces in place of comments, strings, characters and the preprocessor; of the same length."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, text, flags=re.M)


def swaps(code):
    """(begin, end, new) of each operator and constant that can be another one."""
    for token in TOKEN.finditer(code):
        begin, end = token.span()
        table = dict(SWAPS)
        if code[begin - 1 : begin].isspace() and code[end : end + 1].isspace():  # as clang-format writes a binary one
            table.update(BINARY)
        for new in table.get(token.group(), []):
            yield begin, end, new


def is_declaration(words):
    """Of the first tokens of a statement: `lb_ns x`, `FILE *out`."""
    if words[0] in TYPES or not re.match(r"\w", words[0]):
        return words[0] in TYPES
    after = next((w for w in words[1:] if w != "*"), "")
    return len(words) > 1 and (words[1] == "*" or words[1][0].isalpha()) and bool(re.match(r"\w", after))


def removals(code):
    """(begin, end, "{}") of each statement that is not a declaration."""
    depth, start = 0, None
    braces = []  # what each open brace is: of a body, or of a value or a struct
    tokens = list(TOKEN.finditer(code))
    for i, token in enumerate(tokens):
        t = token.group()
        if start is not None and depth == 0 and t == ";":
            words = [w.group() for w in tokens[start:i]]
            if words and words[0] not in NO_STATEMENT and re.match(r"[A-Za-z_(*+-]", words[0]):
                if words[0] in ("return", "break", "continue") or not is_declaration(words):
                    yield tokens[start].start(), token.end(), "{}"
            start = None
        if t in "([":
            depth += 1
        elif t in ")]":
            depth -= 1
        elif t == "{":
            before = tokens[i - 1].group() if i else ""
            body = before in (")", "else", "do", "{", "}", ";", ":") and depth == 0 and (start is None or start == i)
            braces.append(body)
            depth += 0 if body else 1
        elif t == "}" and braces:
            depth -= 0 if braces.pop() else 1
        # What begins after this token? Inside the bodies of functions only.
        if any(braces) and depth == 0:
            if t in ("{", "}", ";", "else", "do"):
                start = i + 1 if t != "}" or braces else None
            elif t == ":" and is_label(tokens, i):
                start = i + 1
            elif t == ")" and is_condition(tokens, i):
                start = i + 1
        else:
            start = None if depth == 0 else start


def is_label(tokens, i):
    while i > 0 and tokens[i].group() not in (";", "{", "}"):
        if tokens[i].group() in ("case", "default"):
            return True
        if tokens[i].group() == "?":
            return False
        i -= 1
    return False


def is_condition(tokens, i):
    """Whether the parenthesis that closes at i is that of an if, for, while or switch."""
    depth = 0
    while i >= 0:
        t = tokens[i].group()
        depth += (t == ")") - (t == "(")
        if depth == 0:
            return i > 0 and tokens[i - 1].group() in ("if", "for", "while", "switch")
        i -= 1
    return False


def mutants_of(file, text):
    """Every mutant, in the order of the text. Equal lines are told apart by their number among their equals."""
    code, result, equals = code_of(text), [], {}
    swapped = list(swaps(code))
    for begin, end, new in sorted([*swapped, *removals(code)]):
        start = text.rfind("\n", 0, begin) + 1
        whole = text[start : text.find("\n", begin)]
        old = text[begin:end]
        if new == "{}":
            change = textwrap.shorten("without " + " ".join(old.split()), 70, placeholder=" ...")
        else:
            nth = [b for b, e, n in swapped if start <= b <= begin and text[b:e] == old and n == new]
            change = f"{old} to {new or 'nothing'}" + (f" (number {len(nth)})" if len(nth) > 1 else "")
        equal = equals.setdefault((whole.strip(), change), [])
        equal.append(begin)
        key = hashlib.sha1(f"{whole.strip()}|{change}|{len(equal)}".encode()).hexdigest()[:6]
        line = text.count("\n", 0, begin) + 1
        name = os.path.basename(file).removesuffix(".c")
        result.append(Mutant(f"{name}-{key}", file, line, whole.strip(), change, begin, end, new))
    return result


def difference(mutant, text):
    changed = text[: mutant.begin] + mutant.new + text[mutant.end :]
    lines = difflib.unified_diff(text.splitlines(), changed.splitlines(), mutant.file, mutant.file, "", "", 1, "")
    return "\n".join(lines)


# ---- those that change nothing --------------------------------------------------------------------------------------


def read_equivalent(path):
    """{(file, line's text, change): argument}; three lines and the argument, which may go on over several lines."""
    entries, key, file = {}, None, ""
    for number, line in enumerate(open(path, encoding="utf-8") if os.path.exists(path) else [], 1):
        line = line.rstrip("\n")
        if not line.strip() or line.startswith("#"):
            key = None
        elif not line.startswith(" "):
            file = line
        elif match := re.match(r"  line    (.*)$", line):
            key = (file, match.group(1), None)
        elif (match := re.match(r"  change  (.*)$", line)) and key:
            key = (key[0], key[1], match.group(1))
        elif (match := re.match(r"  why     (.*)$", line)) and key and key[2]:
            entries[key] = match.group(1)
        elif key in entries:
            entries[key] += " " + line.strip()
        else:
            sys.exit(f"{path}:{number}: found {line.strip()!r}, expected `line`, `change` and `why`")
    return entries


def key_of(mutant):
    return mutant.file, mutant.text, mutant.change
