/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Files of operators: what is refused, with one line that says where, what was found and what was expected; and the
 * commands that come of one that is right.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own/own_operator.h"
#include "test.h"

static struct lb_own_operator rules;
static struct lb_error err;
static char path[] = "/tmp/lockbench-operator-XXXXXX";

#define MAY "[operator]\nmay = kill, restart\n"
#define VERBS "[verbs]\nkill = k {name}\nrestart = r {name}\n"
#define ONE "[one]\naddress = 10.0.0.1:6379\n"
#define RIGHT MAY ONE VERBS

static int read_text(const char *text) {
  int fd = mkstemp(strcpy(path, "/tmp/lockbench-operator-XXXXXX"));
  assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
  err.text[0] = '\0';
  int r = lb_own_operator_read(path, &rules, &err);
  unlink(path);
  return r;
}

/* What is wrong, and what the complaint says behind the path. */
static const struct {
  const char *text, *says;
} wrong[] = {
    {"", "expected [operator] with may = kill, restart and the like"},
    {"may = kill\n", ":1: expected a section before it"},
    {"[operator\n", ":1: a section without its ]"},
    {"[operator]\nmay kill\n", ":2: expected a [section], or KEY = VALUE"},
    {"[operator]\nmay =\n",
     ":2: may = : expected some of kill, restart, pause, resume, cut, heal, clock, depose and stop"},
    {"[operator]\nmay = kil\n", ":2: unknown verb 'kil', did you mean 'kill'?"},
    {"[operator]\nmay = kill, power-off\n", ":2: unknown verb 'power-off', expected kill, restart, ..."},
    {"[operator]\nmai = kill\n", ":2: unknown key 'mai', did you mean 'may'?"},
    {"[operator]\nmay = kill\nmay = pause\n", ":3: a second may"},
    {"[operator]\nat-once = 0\n", ":2: at-once = 0: expected a number of servers from 1 to 8"},
    {"[operator]\nat-once = all\n", ":2: at-once = all: expected a number of servers"},
    {"[operator]\nundo-after = 2\n", ":2: undo-after = 2: expected a time from 10s to 60m"},
    {"[operator]\nundo-after = 1s\n", ":2: undo-after = 1s: expected a time from 10s to 60m"},
    {"[operator]\nundo-after = 2h\n", ":2: undo-after = 2h: expected a time from 10s to 60m"},
    {"[operator]\nlike = dokcer\n", ":2: unknown tool 'dokcer', did you mean 'docker'?"},
    {"[operator]\nothers = maybe\n", ":2: others = maybe: expected yes, or no such line"},
    {"[operator]\nfails-over = no\n", ":2: fails-over = no: expected yes, or no such line"},
    {"[operator]\n[operator]\n", ":2: a second [operator]"},
    {"[a b]\n", ":1: [a b]: expected the name of a server"},
    {"[a;reboot]\n", ":1: [a;reboot]: expected the name of a server"},
    {"[-rf]\n", ":1: [-rf]: expected the name of a server"},
    {ONE "[one]\n", ":3: [one] stands in line 1 already"},
    {ONE "[two]\naddress = 10.0.0.1:6379\n", ":4: address = 10.0.0.1:6379: that is the one of [one]"},
    {ONE "address = 10.0.0.2:6379\n", ":3: a second address of [one]"},
    {"[one]\nadress = 10.0.0.1:6379\n", ":2: unknown key 'adress' of a server, expected address"},
    {"[one]\naddress = 10.0.0.1\n", ":2: address = 10.0.0.1: expected HOST:PORT"},
    {"[one]\naddress = $(reboot):1\n", ":2: address = $(reboot):1: expected HOST:PORT"},
    {"[one]\naddress = 10.0.0.1:66000\n", ":2: address = 10.0.0.1:66000: expected HOST:PORT"},
    {"[verbs]\nkil = k {name}\n", ":2: unknown verb 'kil', did you mean 'kill'?"},
    {"[verbs]\nkill =\n", ":2: kill: expected a command"},
    {"[verbs]\nkill = reboot\n", ":2: kill: found no {name}, {address} or {host}"},
    {"[verbs]\nkill = k {nmae}\n", ":2: kill: unknown {nmae}, expected {name}"},
    {"[verbs]\nkill = k {name} {other}\n", ":2: kill: it has no {other} end"},
    {"[verbs]\ncut = c {name}\n", ":2: cut: expected {other} or {other-host}"},
    {"[verbs]\nclock = c {name}\n", ":2: clock: expected {offset-ms} or {offset-s}"},
    {"[verbs]\npause = p {name} {offset-s}\n", ":2: pause: only a clock has an offset"},
    {VERBS "kill = k {name}\n", ":4: a second kill"},
    {MAY VERBS, "expected a section for each server"},
    {MAY VERBS "[one]\n", "[one]: expected address = HOST:PORT"},
    {MAY ONE, "it may kill: expected [verbs] with kill = CMD, or like = docker"},
    {"[operator]\nmay = kill\n" ONE VERBS, "may = kill: expected restart beside it, which undoes it"},
    {"[operator]\nmay = cut, heal\nlike = docker\n" ONE,
     "it may cut: expected [verbs] with cut = CMD, which this tool"},
};

TEST(what_is_wrong_is_said_in_one_line) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    if (read_text(wrong[i].text) == 0) fail_msg("%s: taken", wrong[i].text);
    const char *says = strstr(err.text, path);
    if (!says || !strstr(says + strlen(path), wrong[i].says) || strchr(err.text, '\n'))
      fail_msg("%s: said '%s', expected '%s'", wrong[i].text, err.text, wrong[i].says);
  }
}

TEST(others_may_not_read_it) {
  assert_int_equal(read_text(RIGHT), 0);
  FILE *out = fopen(path, "w");
  fputs(RIGHT, out);
  fclose(out);
  chmod(path, 0644);
  assert_true(lb_own_operator_read(path, &rules, &err) < 0);
  assert_non_null(strstr(err.text, "others may read or write it"));
  unlink(path);
}

static void gives(enum lb_mandate_verb verb, const char *expected) {
  assert_string_equal(lb_own_operator_command(&rules, verb, 0, rules.count > 1 ? 1 : rules.count, -1500), expected);
}

TEST(names_and_addresses_are_filled_in) {
  assert_int_equal(read_text("[operator]\nmay = kill, restart, cut, heal, clock\nlike = compose\nat-once = 2\n"
                             "undo-after = 90s\n" ONE "[two]\naddress = db2:6380\n"
                             "[verbs]\nkill = a={name}; k \"${a##*-}\" {host} {port} {address} {x\n"
                             "cut = c {name} {other} {other-host}\nheal = h {host} {other}\n"
                             "clock = t {name} {offset-ms} {offset-s}\n"),
                   0);
  gives(LB_MAY_KILL, "a=one; k \"${a##*-}\" 10.0.0.1 6379 10.0.0.1:6379 {x");
  gives(LB_MAY_RESTART, "docker compose start one");
  gives(LB_MAY_CUT, "c one two db2");
  gives(LB_MAY_HEAL, "h 10.0.0.1 two");
  gives(LB_MAY_CLOCK, "t one -1500 -1");
  assert_int_equal(rules.at_once, 2);
  assert_int_equal(rules.undo_after_ms, 90000);
}

TEST(a_server_that_nobody_has_is_refused_and_one_without_a_name) {
  assert_int_equal(lb_own_add(LB_OWN_REDIS, "10.0.0.1:6379,10.0.0.2:6379", &err), 0);
  struct lb_own *own = lb_own_at(0);
  own->found.count = own->found.data_count = 2;
  memcpy(own->found.server, own->given, sizeof own->given);
  assert_int_equal(read_text(RIGHT), 0);
  assert_true(lb_own_operator_check(&rules, &err) < 0);
  assert_non_null(strstr(err.text, "expected a section for the server at 10.0.0.2:6379"));
  assert_int_equal(read_text(RIGHT "[two]\naddress = 10.0.0.3:6379\n"), 0);
  assert_true(lb_own_operator_check(&rules, &err) < 0);
  assert_non_null(strstr(err.text, ":8: [two]: no server here has the address 10.0.0.3:6379"));
  assert_int_equal(read_text(RIGHT "[two]\naddress = 10.0.0.2:6379\n"), 0);
  assert_int_equal(lb_own_operator_check(&rules, &err), 0);
  size_t index;
  assert_ptr_equal(lb_own_operator_server(&rules, 1, &index), own);
  assert_int_equal(index, 1);
}
