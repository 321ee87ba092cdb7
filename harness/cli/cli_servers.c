/* SPDX-License-Identifier: MIT
 *
 * Servers without a run. Those of the user's own: the options that name them, their logins, and `lockbench clean`. Each
 * of them is asked who it is before anything is planned; where one wants a password and there is a terminal, the user
 * is asked for it. `lockbench serve` keeps the servers of a trial, and `lockbench fault` does something to them.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "backends/registry.h"
#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "client/env.h"
#include "plan/system.h"
#include "run/exit.h"
#include "run/rundir.h"
#include "serve/serve.h"
#include "serve/serve_line.h"

enum { TRIES = 3 };

bool lb_cli_names_own(const struct lb_args *args) {
  for (size_t i = 0; i < LB_OWN_COUNT; i++)
    if (args->own[i]) return true;
  return false;
}

/* ---- logins ------------------------------------------------------------------------------------- */

/* One line from the terminal, which does not show it. */
static bool read_hidden(const char *prompt, char *buf, size_t size) {
  struct termios shown, hidden;
  FILE *terminal = fopen("/dev/tty", "r+e");
  bool good = terminal && tcgetattr(fileno(terminal), &shown) == 0;
  if (good) {
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    fprintf(terminal, "%s", prompt);
    fflush(terminal);
    tcsetattr(fileno(terminal), TCSAFLUSH, &hidden);
    good = fgets(buf, (int)size, terminal) != NULL;
    tcsetattr(fileno(terminal), TCSAFLUSH, &shown);
    fputc('\n', terminal);
  }
  if (terminal) fclose(terminal);
  if (good) buf[strcspn(buf, "\n")] = '\0';
  return good && buf[0];
}

/* Only where somebody sits who can answer: a script would wait for ever. */
static bool ask_password(const struct lb_own_kind *kind) {
  struct lb_own_login *login = lb_own_login(kind->login);
  char prompt[300];
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
  snprintf(prompt, sizeof prompt, "password for %s%s%s: ", lb_own_login_names[kind->login],
           login->user[0] ? " user " : "", login->user);
  return read_hidden(prompt, login->password, sizeof login->password);
}

/* ---- before a run ------------------------------------------------------------------------------- */

/* What is typed wins over the file, and that over the environment. */
static int take(const struct lb_args *args) {
  struct lb_error err;
  int r = lb_own_take_environment(&err);
  if (r == 0 && args->auth) r = lb_own_read_logins(args->auth, &err);
  for (size_t i = 0; i < LB_OWN_COUNT && r == 0; i++)
    if (args->own[i]) r = lb_own_add((enum lb_own_what)i, args->own[i], &err);
  return r < 0 ? lb_complain(LB_EXIT_USAGE, "%s", err.text) : 0;
}

/* A client library that has no TLS would go on in the clear. */
static int check_tls(const struct lb_own_kind *kind) {
  if (!kind->no_tls || !lb_own_login(kind->login)->tls) return 0;
  return lb_complain(LB_EXIT_USAGE,
                     "%s: tls=yes: the client library here has no TLS; name a tunnel that has (docs/own-servers.md)",
                     kind->option);
}

static int ask_servers(struct lb_own *own, struct lb_env *env) {
  struct lb_error err;
  int r = check_tls(own->kind);
  if (r) return r;
  for (int i = 0; (r = lb_own_ask(own, env, &err)) == -EACCES && i < TRIES && ask_password(own->kind); i++)
    lb_own_keep_secrets();
  return r < 0 ? lb_complain(LB_EXIT_MISSING, "%s", err.text) : 0;
}

/* What a guardian has left is undone before the servers are asked: one that was left dead cannot answer. */
static int begin(const struct lb_args *args, bool cleans) {
  struct lb_process_env env;
  struct lb_own *own;
  if (args->auth && !lb_cli_names_own(args))
    return lb_complain(LB_EXIT_USAGE, "--auth %s: expected servers beside it, as in --redis HOST:PORT", args->auth);
  if ((args->operator_file || args->yes || args->list) && !lb_cli_names_own(args))
    return lb_complain(LB_EXIT_USAGE, "%s: expected servers beside it, as in --redis HOST:PORT",
                       args->operator_file ? "--operator"
                       : args->yes         ? "--yes"
                                           : "--list");
  int r = take(args);
  if (r == 0) r = lb_cli_operator_read(args);
  if (r) return r;
  lb_own_keep_secrets();
  int left = cleans ? lb_cli_operator_clean(args) : -lb_cli_operator_reserve(args);
  if (left < 0) return -left;
  lb_env_init(&env, lb_cli_random_seed());
  for (size_t i = 0; r == 0 && (own = lb_own_at(i)); i++) r = ask_servers(own, &env.base);
  if (r == 0) r = lb_cli_operator_meet(args);
  return r == 0 ? lb_cli_operator_cleaned(left) : r;
}

int lb_cli_own_begin(const struct lb_args *args) { return begin(args, false); }

/* ---- which systems ------------------------------------------------------------------------------ */

static void add(char **list, const char *protocol, const char *topology) {
  char *longer =
      lb_need_printed("%s%s%s%s%s", *list ? *list : "", *list ? "," : "", protocol, *topology ? "@" : "", topology);
  free(*list);
  *list = longer;
}

/* A protocol without a topology, on each kind of own server that it runs on. False: on none. */
static bool add_everywhere(char **list, const struct lb_protocol *protocol) {
  const struct lb_own *own;
  bool found = false;
  for (size_t i = 0; (own = lb_own_at(i)); i++)
    if (lb_topology_serves(&own->topology, protocol->topologies))
      add(list, protocol->name, own->topology.name), found = true;
  return found;
}

/* A foreign library may make keys that are not called after the run, so a user who wants it there has to name it. A
 * floor is no lock. */
static void add_all(char **list) {
  const struct lb_protocol *protocol;
  for (size_t i = 0; (protocol = lb_protocol_at(i)); i++)
    if (!strchr(protocol->name, ':') && !(protocol->traits & LB_TRAIT_FLOOR)) add_everywhere(list, protocol);
}

char *lb_cli_own_systems(const char *asked) {
  const struct lb_protocol *protocol;
  const struct lb_own *own;
  char *list = NULL, *copy = asked ? lb_need_text(asked) : NULL, *rest = copy;
  for (size_t i = 0; !asked && (own = lb_own_at(i)); i++)
    if ((protocol = lb_protocol_to_use(own->topology.stands_for))) add(&list, protocol->name, own->topology.name);
  for (char *one; rest && (one = strsep(&rest, ","));)
    if (strcmp(one, "all") == 0) add_all(&list);
    else if (strchr(one, '@') || !(protocol = lb_protocol_find(one))) add(&list, one, "");
    else if (!add_everywhere(&list, protocol))
      add(&list, one, lb_own_at(0)->topology.name); /* where it does not run, as the plan will say */
  free(copy);
  return list;
}

/* ---- lockbench clean ---------------------------------------------------------------------------- */

static int clean_command(const struct lb_args *args) {
  struct lb_process_env env;
  struct lb_own *own;
  struct lb_error err;
  if (args->word_count > 0)
    return lb_complain(LB_EXIT_USAGE, "clean: expected servers, as in --redis HOST:PORT, got '%s'", args->words[0]);
  if (!lb_cli_names_own(args))
    return lb_complain(LB_EXIT_USAGE, "clean: expected servers, as in --redis HOST:PORT, see `%s clean --help`",
                       lb_process_called());
  int code = begin(args, true);
  lb_env_init(&env, lb_cli_random_seed());
  for (size_t i = 0; code == 0 && (own = lb_own_at(i)); i++) {
    if (lb_own_clean(own, &env.base, &err) < 0) code = lb_complain(LB_EXIT_FAILURE, "%s", err.text);
    else printf("%s: nothing of lockbench is left\n", own->summary);
  }
  return code;
}

const struct lb_cli_command lb_command_clean = {
    "clean",
    clean_command,
    LB_ARG_OWN,
    "",
    "removes from your own servers what killed runs have left",
    "It removes whatever has the name of a run (lockbench: and eight hexadecimal digits; on memcached lockbench: alone), also of a run that is going on.\n"
    "With --operator FILE it first undoes what was done to these servers, if the tool and its guardian were killed. It asks nothing before.\n"
    "exit: 0 nothing is left, 1 not all could be removed, 2 usage, 5 a server could not be asked\n"};

/* ---- serve and fault ------------------------------------------------------------------------------------- */

enum { TTL_MS = 10000, LINE_BYTES = 2000 };

/* One with servers, or NULL after a complaint. */
static const struct lb_topology *find(const char *name) {
  const struct lb_topology *t;
  struct lb_error err;
  if (lb_system_topology(name, &t, &err) < 0) return lb_complain(0, "serve: %s", err.text), NULL;
  if (t->data_count > 0) return t;
  return lb_complain(0, "serve %s: it has no servers", name), NULL;
}

static int serve_command(const struct lb_args *args) {
  struct lb_rundir dir;
  struct lb_error err;
  int status = 0;
  const char *tmp = getenv("TMPDIR"), *missing;
  if (args->word_count != 1)
    return lb_complain(LB_EXIT_USAGE, "serve: expected one TOPOLOGY, and a command behind `--`");
  const struct lb_topology *topology = find(args->words[0]);
  if (!topology) return LB_EXIT_USAGE;
  if ((missing = lb_topology_missing(topology)))
    return lb_complain(LB_EXIT_MISSING, "serve %s: needs %s, which is not on this machine", topology->name, missing);
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "serve", NULL, &err) < 0)
    return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  struct lb_serve_plan plan = {.topology = topology,
                               .dir = &dir,
                               .command = args->command,
                               .hosts = args->hosts ? args->hosts : 1,
                               .ttl_ms = args->ttl_ms ? args->ttl_ms : TTL_MS,
                               .seed = lb_cli_random_seed(),
                               .on_disk = args->storage ? strcmp(args->storage, "disk") == 0 : args->speed,
                               .measured = args->speed,
                               .clocks = args->clocks,
                               .out = stdout,
                               .notes = stderr};
  int r = lb_serve_run(&plan, &status, &err);
  lb_rundir_close(&dir);
  if (r == -ENOENT)
    return lb_complain(127, "serve %s: %s", topology->name, err.text); /* as a shell says it of a command */
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "serve %s: %s", topology->name, err.text) : status;
}

const struct lb_cli_command lb_command_serve = {
    "serve",
    serve_command,
    LB_ARG_SERVE,
    "TOPOLOGY [-- COMMAND]",
    "starts servers as a trial would, and keeps them",
    "COMMAND runs on the host of client 1, with the addresses in its environment: LOCKBENCH_SERVERS, LOCKBENCH_REDIS,\n"
    "LOCKBENCH_SENTINELS, LOCKBENCH_SENTINEL_MASTER, LOCKBENCH_ZOOKEEPER, LOCKBENCH_POSTGRES, PGHOST ..., LOCKBENCH_MARIADB, LOCKBENCH_ETCD, LOCKBENCH_NATS, LOCKBENCH_MEMCACHED,\n"
    "ETCDCTL_ENDPOINTS; LOCKBENCH_TOOL is this program, LOCKBENCH_OPERATOR a file for --operator. Without COMMAND there is a prompt: `help` lists what can be asked. All ends with COMMAND.\n"
    "exit: that of COMMAND; 1 failure of the harness, 2 usage, 5 servers are missing, 127 no such command\n"};

/* The words of a step may be one argument, or several. */
static int fault_command(const struct lb_args *args) {
  struct lb_error err;
  char line[LINE_BYTES] = "";
  const char *path = getenv(LB_SERVE_VARIABLE);
  size_t at = 0;
  if (args->word_count == 0)
    return lb_complain(LB_EXIT_USAGE, "fault: expected a step, as in 'kill primary'; `%s fault help` lists them",
                       lb_process_called());
  for (int i = 0; i < args->word_count && at < sizeof line; i++)
    at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", i ? " " : "", args->words[i]);
  if (at >= sizeof line)
    return lb_complain(LB_EXIT_USAGE, "fault: expected a step, found %zu bytes and more", sizeof line);
  if (!path || !*path)
    return lb_complain(LB_EXIT_USAGE, "fault: " LB_SERVE_VARIABLE
                                      " is not set: `serve TOPOLOGY` sets it for its command, and prints it");
  int code = lb_serve_ask(path, line, stdout, &err);
  fflush(stdout); /* before what is refused */
  return code == LB_EXIT_OK ? LB_EXIT_OK : lb_complain(code, "fault: %s", err.text);
}

const struct lb_cli_command lb_command_fault = {
    "fault",
    fault_command,
    0,
    "STEP",
    "does a step of a scenario to servers that `serve` keeps, and proves it",
    "STEP is what a scenario says: 'kill primary', 'cut primary from replicas', 'await failover within 20s'; or help, hosts, env.\n"
    "LOCKBENCH_SERVE names the `serve` to ask. Its COMMAND has it; for other terminals `serve` prints it.\n"
    "exit: 0 done and proved, 4 not proved, 2 not understood, or no `serve` is named, 1 nobody serves there\n"};
