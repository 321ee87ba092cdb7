# SPDX-License-Identifier: MIT
"""edn.py - reads EDN form by form, strictly: what is none is refused with its place. Tags and what is left out (#_) are skipped.

A form is its text, a str as it stands in the file (`:key`, `"text"`, `17`, `nil`), or brackets: a Form, the list of what is inside.
"""

import re

DEPTH_MAX = 64  # brackets and tags in each other
INTEGER = re.compile(r"[+-]?[0-9]+N?")
_PART = r"[^\x00-\x20\x7f,()\[\]{}\";]"  # of a token
_TOKEN = re.compile(rf"""(?:[ ,\n\t\r\f\v]+|;[^\n]*)*(?:
    ( :(?!:){_PART}+ | (?![:'`@^~\\\#0-9]|[+-][0-9]){_PART}+                                           # a keyword or a symbol
    | [+-]?(?:0|[1-9][0-9]*)(?:N|/[0-9]+|(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?M?)(?!{_PART})               # a number
    | "(?:[^"\\\x00]|\\[tbnrf\\"u0-7])*"
    | \\[^\x00-\x20\x7f]{_PART}* | \#\#{_PART}* )
    | ( \#?\{{ | [(\[] ) | ( [)\]}}] ) | ( \#_ | \#[A-Za-z]{_PART}* )
    | ( (?s:.) | \Z ) )""", re.VERBOSE)
_SCALAR, _OPEN, _CLOSE, _TAG = 1, 2, 3, 4
_BRACKETS = {"(": (")", "a vector"), "[": ("]", "a vector"), "{": ("}", "a map"), "#{": ("}", "a set")}


class Refused(Exception):
    """What was found and what was expected, and at which character of the text."""

    def __init__(self, at, what):
        super().__init__(what)
        self.at = at


class Form(list):
    """What is inside of brackets; `text` is the same as it stands in the file."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.text = kind, ""

    def __hash__(self):  # maps may have it as a key
        return id(self)


def kind(form):
    if isinstance(form, Form):
        return form.kind
    if INTEGER.fullmatch(form):
        return "an integer"
    first = form[0]
    if first.isdigit() or form[:2] == "##" or (first in "+-" and form[1:2].isdigit()):
        return "a number"
    return {":": "a keyword", '"': "a string", "\\": "a character"}.get(first, "a symbol")


def content(form):
    """The text without a keyword's colon, quotes or brackets."""
    if isinstance(form, Form):
        return form.text
    return form[1:-1] if form[0] == '"' else form[form[0] == ":":]


class _Reader:
    def __init__(self, text):
        self.text, self.tokens, self.depth = text, _TOKEN.finditer(text), 0

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def deeper(self, at, what):
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Refused(at, f"found more than {DEPTH_MAX} {what} in each other, expected fewer")

    def no_form(self, at):
        """Why no form begins here."""
        text = self.text
        number = re.compile(rf"[+-]?[0-9]{_PART}*").match(text, at)
        if text[at] == '"':
            string = re.compile(r'"(?:[^"\\\x00]|\\[tbnrf\\"u0-7])*').match(text, at)
            at = at if string.end() == len(text) else string.end()
            if text[at] == '"' or text[at + 1:] == "":
                return Refused(at, "found the end of the file in the string that begins here, expected '\"'")
            if text[at] == "\\":
                return Refused(at, "found an unknown escape in a string, expected one like \\n or \\u00e9")
        if number:
            zero = re.match("[+-]?0[0-9]", number[0])
            return Refused(at, f"found the number {number[0][:40]}, expected no zero at its begin" if zero else f"found {number[0][:40]}, expected a number")
        if " " < text[at] < "\x7f":
            return Refused(at, f"found '{text[at]}', expected EDN")
        return Refused(at, f"found the byte 0x{text[at].encode()[0]:02x}, expected EDN in UTF-8")

    def closes(self, found, opened, close):
        """found: what stands where `close` has to. Refused."""
        if found[_CLOSE] == close:
            return
        if found[0][-1:] and found.end() > found.start(found.lastindex):
            raise Refused(found.start(found.lastindex), f"found '{found[found.lastindex][:1]}', expected '{close}' for the bracket of line {self.line(opened)}")
        raise Refused(opened, f"found the end of the file in the brackets that begin here, expected '{close}'")

    def is_end(self, found):
        return found.lastindex == _CLOSE or found.start(found.lastindex) == len(self.text)

    def behind_tag(self, found):
        """The form behind a tag, and what was found there."""
        at = found.start(_TAG)
        self.deeper(at, "tags")
        below = next(self.tokens)
        while below.lastindex == _TAG and below[_TAG] == "#_":
            self.behind_tag(below)
            below = next(self.tokens)
        if self.is_end(below):
            raise Refused(at, "found nothing after a '#', expected a form")
        form = self.form(below)
        self.depth -= 1
        return form

    def inside(self, found):
        opened, bracket = found.start(_OPEN), found[_OPEN]
        self.deeper(opened, "brackets")
        close, what = _BRACKETS[bracket]
        form = Form(what)
        for found in self.tokens:
            last = found.lastindex
            if last == _SCALAR:
                form.append(found[_SCALAR])
            elif last == _TAG and found[_TAG] == "#_":
                self.behind_tag(found)
            elif self.is_end(found):
                break
            else:
                form.append(self.form(found))
        self.closes(found, opened, close)
        self.depth -= 1
        if what == "a map" and len(form) % 2:
            raise Refused(opened, f"found {len(form)} forms in a map, expected a value for each key")
        form.text = self.text[opened + len(bracket):found.start(_CLOSE)]
        return form

    def form(self, found):
        """The form that begins with this token, which is no #_."""
        if found.lastindex == _OPEN:
            return self.inside(found)
        if found.lastindex == _TAG:
            return self.behind_tag(found)
        if found.lastindex == _SCALAR:
            return found[_SCALAR]
        raise self.no_form(found.start(found.lastindex))


def forms(text):
    """Yields (form, where it begins) of one after another, or of one vector of them. Refused."""
    reader, opened, close = _Reader(text), None, None
    for count, found in enumerate(reader.tokens):
        at = found.start(found.lastindex)
        if count == 0 and found[_OPEN] in ("(", "["):
            opened, close = at, _BRACKETS[found[_OPEN]][0]
        elif found.lastindex == _TAG and found[_TAG] == "#_":
            reader.behind_tag(found)
        elif reader.is_end(found):
            break
        else:
            yield reader.form(found), at
    if close:
        reader.closes(found, opened, close)
        found = next(reader.tokens)
        if found.start(found.lastindex) < len(text):
            raise Refused(found.start(found.lastindex), "found more after the vector, expected its end alone")
    elif found.lastindex == _CLOSE:
        raise reader.no_form(found.start(_CLOSE))
