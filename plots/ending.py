# SPDX-License-Identifier: MIT
"""ending.py - how every program here ends that a user calls: with one line at most, and a documented exit code.

    sys.exit(ending.of(main))

Exit: what main() returns; 2 bad input; 1 a file or standard output cannot be written, or a failure that nobody foresaw, which
is one line, too (LOCKBENCH_TRACEBACK=1 shows all of it); 130 interrupted; 141 who read the output went away (`| head`), as a
shell says of SIGPIPE: nothing is printed then.
"""

import contextlib
import difflib
import errno
import os
import sys
import traceback

FAILED, BAD_INPUT, INTERRUPTED, READER_GONE = 1, 2, 130, 141


class BadInput(Exception):
    """One line: the file, what was found, what was expected."""


def near(word, words, least=0.6):
    """The word that is meant by one of a slip of the pen, the first of several; or None. `least`: how much of both has to be the same."""
    ratios = [(difflib.SequenceMatcher(None, word, other).ratio(), other) for other in words]
    best = max(ratios, key=lambda pair: pair[0], default=(0, None))
    return best[1] if best[0] >= least else None


def _say(text):
    """To stderr, which may be gone as well."""
    try:
        print(" ".join(str(text).split("\n")), file=sys.stderr, flush=True)
    except (OSError, AttributeError):
        pass


def _written():
    """Whether all that was printed has arrived; raises what the write met."""
    if sys.stdout is None:  # so Python calls a stream that it was started without
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()


def _of_output(error):
    """The exit code where standard output has failed. Nothing is left for the interpreter to write when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return READER_GONE
    _say(f"cannot write to standard output: {error.strerror}")
    return FAILED


def _of_unforeseen(error):
    if os.environ.get("LOCKBENCH_TRACEBACK"):
        traceback.print_exc()
    place = traceback.extract_tb(error.__traceback__)[-1]
    _say(f"{os.path.basename(sys.argv[0])}: failed at {os.path.basename(place.filename)}:{place.lineno}: {type(error).__name__}: {error}")
    return FAILED


@contextlib.contextmanager
def naming(path):
    """Around what writes files: Python does not say of a write that fails where it was. What says nothing is standard output."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or path
        raise


def of(main):
    """Calls main(); its exit code, None for 0."""
    try:
        if sys.stdout is None:
            _written()
        try:
            code = main() or 0
        except SystemExit as end:  # argparse
            code = end.code or 0
        _written()
        return code
    except BadInput as error:
        _say(error)
        return BAD_INPUT
    except OSError as error:
        if not error.filename:
            return _of_output(error)
        _say(f"{error.filename}: {error.strerror}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # pylint: disable=broad-except
        return _of_unforeseen(error)
