# SPDX-License-Identifier: MIT
"""c_code.py - a C source without what is no code: for the tests of style that read functions off the sources."""
import re

_NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)


def only(text):
    """Without comments, texts, characters and preprocessor lines."""
    return _NOT_CODE.sub(" ", text)
