#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""mutate.py on a tiny project of its own: what it changes, what it draws, what it says. Speaks TAP."""
import contextlib
import io
import os
import shutil
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import mutants  # noqa: E402
import mutate  # noqa: E402

SOURCE = """#define LIMIT (1 + 1)
/* a == b */
int larger(int a, int b);
const char *larger_words(void);
const char *larger_words(void) { return "a < b"; }
int larger(int a, int b) {
  if (a == b) return a; /* 0 */
  return a > b ? a : b;
}
"""
TEST = """#include <stdio.h>
int larger(int a, int b);
int main(void) {
  puts("1..1");
  puts(larger(1, 2) == 2 && larger(3, 2) == 3 ? "ok 1 - the_larger_one" : "not ok 1 - the_larger_one");
  return 0;
}
"""
TABLE = {"harness/larger.c": ["larger"]}


def make_project(folder):
    for name, text in {
        "harness/larger.c": SOURCE,
        "tests/test-larger.c": TEST,
        "tests/meson.build": "executable('test-larger', 'test-larger.c', '../harness/larger.c')\n",
        "meson.build": "project('tiny', 'c', default_options: ['werror=true'])\nsubdir('tests')\n",
    }.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)


def call(folder, *argv, table=None):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = mutate.main(list(argv), folder, table)
        except SystemExit as ended:
            code = ended.code
    return code, out.getvalue(), err.getvalue()


def changes(text):
    return [m.change for m in mutants.mutants_of("harness/larger.c", text)]


# ---- statements -----------------------------------------------------------------------------------------------------


def only_code_is_changed(_):
    assert changes(SOURCE) == [
        'without return "a < b";', "== to !=", "without return a;", "without return a > b ? a : b;", "> to <=", "> to >=",
    ], changes(SOURCE)  # fmt: skip


def pointers_and_signs_are_no_operators_and_declarations_no_statements(_):
    body = "int f(struct s *x) {\n  int *p = &x->y, n = -2;\n  *p = 3;\n  g(*p);\n  return n - 2;\n}\n"
    assert changes(body) == ["without *p = 3;", "without g(*p);", "without return n - 2;", "- to +"], changes(body)


def an_id_does_not_depend_on_where_the_line_stands(_):
    def names(text):
        return [m.id for m in mutants.mutants_of("harness/larger.c", text)]

    assert names(SOURCE) == names("\n\n/* more */\n" + SOURCE)
    assert len(set(names(SOURCE + SOURCE))) == 2 * len(names(SOURCE))


def the_same_seed_lists_the_same(_):
    lists = [call(None, "--list", "--seed", seed)[1] for seed in ("7", "7", "8")]
    assert lists[0] == lists[1] and lists[0] != lists[2]
    assert len(lists[0].splitlines()) == mutate.PER_FILE * len(mutate.TESTS)
    assert len(call(None, "--list", "--count", "9")[1].splitlines()) == 9


def a_file_or_a_mutant_that_is_not_there_is_refused(_):
    for argv in (["--file", "larger.h"], ["--only", "check-0"], ["--jobs", "0"]):
        code, _, err = call(None, *argv)
        assert code == 2 and argv[0] in err, err


def every_argued_mutant_is_still_there(_):
    code, out, _ = call(None, "--check")
    assert code == 0, out


def a_mutant_is_killed_by_name_and_a_survivor_is_shown(folder):
    make_project(folder)
    code, out, err = call(folder, "--all", "--jobs", "1", table=TABLE)
    lines = out.splitlines()
    assert code == 3, out + err
    assert lines[0] == "harness/larger.c: killed 2 of 4 (2 did not compile)", out
    assert lines[-1] == "killed 2 of 4 (50 %)", out
    assert "killed by larger: the_larger_one" in err, err
    assert "> to >=" in out and "+  return a >= b ? a : b;" in out, out


def an_argued_survivor_stands_apart_and_an_argument_without_a_mutant_is_found(folder):
    make_project(folder)
    entry = "harness/larger.c\n  line    return a > b ? a : b;\n  change  > to >=\n  why     they are equal then\n"
    path = os.path.join(folder, mutate.EQUIVALENT)
    with open(path, "w", encoding="utf-8") as out:
        out.write(entry)
    assert call(folder, "--check", table=TABLE)[0] == 0
    only = next(m.id for m in mutants.mutants_of("harness/larger.c", SOURCE) if m.change == "> to >=")
    code, text, _ = call(folder, "--only", only, table=TABLE)
    assert code == 3 and "why: they are equal then" in text and text.endswith("killed 0 of 1 (0 %)\n"), text
    with open(path, "w", encoding="utf-8") as out:
        out.write(entry.replace(">=", "!="))
    code, text, _ = call(folder, "--check", table=TABLE)
    assert code == 1 and "no such mutant any more" in text


def tests_that_fail_on_the_true_source_are_an_error(folder):
    make_project(folder)
    with open(os.path.join(folder, "tests/test-larger.c"), "a", encoding="utf-8") as out:
        out.write("__attribute__((destructor)) static void end(void) { _Exit(1); }\n")
    with open(os.path.join(folder, "tests/test-larger.c"), encoding="utf-8") as source:
        text = "#include <stdlib.h>\n" + source.read()
    with open(os.path.join(folder, "tests/test-larger.c"), "w", encoding="utf-8") as out:
        out.write(text)
    code, _, err = call(folder, "--all", "--jobs", "1", table=TABLE)
    assert code == 1 and "fails on the true source" in err, err


STATEMENTS = [
    only_code_is_changed,
    pointers_and_signs_are_no_operators_and_declarations_no_statements,
    an_id_does_not_depend_on_where_the_line_stands,
    the_same_seed_lists_the_same,
    a_file_or_a_mutant_that_is_not_there_is_refused,
    every_argued_mutant_is_still_there,
    a_mutant_is_killed_by_name_and_a_survivor_is_shown,
    an_argued_survivor_stands_apart_and_an_argument_without_a_mutant_is_found,
    tests_that_fail_on_the_true_source_are_an_error,
]


def main():
    bad = 0
    print(f"1..{len(STATEMENTS)}")
    for number, statement in enumerate(STATEMENTS, 1):
        folder = tempfile.mkdtemp(prefix="lb-test-mutate-")
        try:
            statement(folder)
            print(f"ok {number} - {statement.__name__}", flush=True)
        except Exception:  # of whatever kind: the others still speak
            bad += 1
            print(f"not ok {number} - {statement.__name__}", flush=True)
            traceback.print_exc()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
