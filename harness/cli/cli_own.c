/* SPDX-License-Identifier: MIT
 *
 * Servers of the user's own: the options that name them, their logins, and `lockbench clean`. Each of them is asked who it is before
 * anything is planned; where one wants a password and there is a terminal, the user is asked for it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "backends/registry.h"
#include "base/called.h"
#include "cli.h"
#include "client/env.h"

enum { TRIES = 3 };

bool lb_names_own(const struct lb_args *args) {
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
  snprintf(prompt, sizeof prompt, "password for %s%s%s: ", lb_own_login_name(kind->login), login->user[0] ? " user " : "", login->user);
  return read_hidden(prompt, login->password, sizeof login->password);
}

/* ---- before a run ------------------------------------------------------------------------------- */

/* What is typed wins over the file, and that over the environment. */
static int take(const struct lb_args *args) {
  char err[600];
  int r = lb_own_take_environment(err, sizeof err);
  if (r == 0 && args->auth) r = lb_own_read_logins(args->auth, err, sizeof err);
  for (size_t i = 0; i < LB_OWN_COUNT && r == 0; i++)
    if (args->own[i]) r = lb_own_add((enum lb_own_what)i, args->own[i], err, sizeof err);
  return r < 0 ? lb_complain(LB_EXIT_USAGE, "%s", err) : 0;
}

/* A client library that has no TLS would go on in the clear. */
static int check_tls(const struct lb_own_kind *kind) {
  if (!kind->no_tls || !lb_own_login(kind->login)->tls) return 0;
  return lb_complain(LB_EXIT_USAGE, "%s: tls=yes: the client library here has no TLS; name a tunnel that has (docs/own-servers.md)", kind->option);
}

static int ask(struct lb_own *own, struct lb_env *env) {
  char err[600];
  int r = check_tls(own->kind);
  if (r) return r;
  for (int i = 0; (r = lb_own_ask(own, env, err, sizeof err)) == -EACCES && i < TRIES && ask_password(own->kind); i++) lb_own_keep_secrets();
  return r < 0 ? lb_complain(LB_EXIT_MISSING, "%s", err) : 0;
}

int lb_own_begin(const struct lb_args *args) {
  struct lb_process_env env;
  struct lb_own *own;
  if (args->auth && !lb_names_own(args)) return lb_complain(LB_EXIT_USAGE, "--auth %s: expected servers beside it, as in --redis HOST:PORT", args->auth);
  int r = take(args);
  if (r) return r;
  lb_own_keep_secrets();
  lb_env_init(&env, lb_random_seed());
  for (size_t i = 0; r == 0 && (own = lb_own_at(i)); i++) r = ask(own, &env.base);
  return r;
}

/* ---- which systems ------------------------------------------------------------------------------ */

static void add(char **list, const char *protocol, const char *topology) {
  char *longer = NULL;
  if (asprintf(&longer, "%s%s%s%s%s", *list ? *list : "", *list ? "," : "", protocol, *topology ? "@" : "", topology) < 0) longer = NULL;
  free(*list);
  *list = longer;
}

/* A protocol without a topology, on each kind of own server that it runs on. False: on none. */
static bool add_everywhere(char **list, const struct lb_protocol *protocol) {
  const struct lb_own *own;
  bool found = false;
  for (size_t i = 0; (own = lb_own_at(i)); i++)
    if (lb_topology_serves(&own->topology, protocol->topologies)) add(list, protocol->name, own->topology.name), found = true;
  return found;
}

/* A foreign library may make keys that are not called after the run, so who wants it there has to name it. */
static void add_all(char **list) {
  const struct lb_protocol *protocol;
  for (size_t i = 0; (protocol = lb_protocol_at(i)); i++)
    if (!strchr(protocol->name, ':')) add_everywhere(list, protocol);
}

char *lb_own_systems(const char *asked) {
  const struct lb_protocol *protocol;
  const struct lb_own *own;
  char *list = NULL, *copy = asked ? strdup(asked) : NULL, *rest = copy;
  for (size_t i = 0; !asked && (own = lb_own_at(i)); i++) if ((protocol = lb_protocol_to_use(own->topology.stands_for))) add(&list, protocol->name, own->topology.name);
  for (char *one; rest && (one = strsep(&rest, ","));)
    if (strcmp(one, "all") == 0) add_all(&list);
    else if (strchr(one, '@') || !(protocol = lb_protocol_find(one))) add(&list, one, "");
    else if (!add_everywhere(&list, protocol)) add(&list, one, lb_own_at(0)->topology.name); /* where it does not run, as the plan will say */
  free(copy);
  return list;
}

/* ---- lockbench clean ---------------------------------------------------------------------------- */

int lb_cli_clean(const struct lb_args *args) {
  struct lb_process_env env;
  struct lb_own *own;
  char err[600];
  if (args->word_count > 0) return lb_complain(LB_EXIT_USAGE, "clean: expected servers, as in --redis HOST:PORT, got '%s'", args->words[0]);
  if (!lb_names_own(args)) return lb_complain(LB_EXIT_USAGE, "clean: expected servers, as in --redis HOST:PORT, see `%s clean --help`", lb_called());
  int code = lb_own_begin(args);
  lb_env_init(&env, lb_random_seed());
  for (size_t i = 0; code == 0 && (own = lb_own_at(i)); i++) {
    if (lb_own_clean(own, &env.base, err, sizeof err) < 0) code = lb_complain(LB_EXIT_FAILURE, "%s", err);
    else printf("%s: nothing of lockbench is left\n", own->summary);
  }
  return code;
}
