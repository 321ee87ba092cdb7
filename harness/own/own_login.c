/* SPDX-License-Identifier: MIT
 *
 * Where passwords come from, and what is done so that they go nowhere else. The environment of a process can be read by
 * its user for as long as it lives, and by its children: so what was taken from it is written over where the kernel
 * shows it.
 */
#include "own.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/files.h"
#include "base/error.h"
#include "network/sandbox.h"
#include "own_file.h"

static struct lb_own_login logins[LB_LOGIN_COUNT];
const char *const lb_own_login_names[LB_LOGIN_COUNT] = {"redis",   "sentinel", "zookeeper", "postgres",
                                                        "mariadb", "etcd",     "memcached", "nats"};
static const char *const keys[] = {"user", "password", "tls", "ca"};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

struct lb_own_login *lb_own_login(enum lb_own_login_of whom) {
  return &logins[whom];
}

static int put(char *ret, size_t size, const char *value, struct lb_error *err) {
  size_t length = strlen(value);
  if (length >= size) return lb_refuse(err, "expected at most %zu bytes", size - 1);
  memcpy(ret, value, length + 1);
  return 0;
}

static int put_yes_no(bool *ret, const char *value, struct lb_error *err) {
  *ret = strcmp(value, "yes") == 0;
  return *ret || strcmp(value, "no") == 0 ? 0 : lb_refuse(err, "expected yes or no");
}

/* A certificate to trust means that one is looked at. */
static int put_ca(struct lb_own_login *login, const char *value, struct lb_error *err) {
  FILE *in = lb_files_open(value);
  if (!in) return lb_refuse(err, "cannot read %s: %s", value, strerror(errno));
  fclose(in);
  login->tls = true;
  return put(login->ca, sizeof login->ca, value, err);
}

/* By the number of the key. */
static int put_value(struct lb_own_login *login, size_t key, const char *value, struct lb_error *err) {
  switch (key) {
    case 0: return put(login->user, sizeof login->user, value, err);
    case 1: return put(login->password, sizeof login->password, value, err);
    case 2: return put_yes_no(&login->tls, value, err);
    default: return put_ca(login, value, err);
  }
}

/* ---- the environment -------------------------------------------------------------------------- */

int lb_own_take_environment(struct lb_error *err) {
  for (size_t i = 0; i < LB_LOGIN_COUNT; i++)
    for (size_t k = 0; k < KEY_COUNT; k++) {
      char name[64];
      int n = snprintf(name, sizeof name, "LOCKBENCH_%s_%s", lb_own_login_names[i], keys[k]);
      for (int c = 0; c < n; c++) name[c] = (char)toupper((unsigned char)name[c]);
      char *value = getenv(name);
      if (!value || !*value) continue;
      int r = put_value(&logins[i], k, value, err);
      explicit_bzero(value, strlen(value));
      unsetenv(name);
      if (r < 0) return lb_error_prefix(err, "%s: ", name);
    }
  return 0;
}

/* ---- a file ------------------------------------------------------------------------------------ */

static int begin_section(void *to, const char *name, int line, struct lb_error *err) {
  (void)line;
  int section = lb_own_file_find("section", name, lb_own_login_names, LB_LOGIN_COUNT, err);
  *(int *)to = section;
  return section < 0 ? section : 0;
}

static int put_key(void *to, const char *name, const char *value, struct lb_error *err) {
  int section = *(int *)to, key = lb_own_file_find("key", name, keys, KEY_COUNT, err);
  if (key < 0) return key;
  if (section < 0) return lb_refuse(err, "expected a section before it: [redis], [postgres] and the like");
  return put_value(&logins[section], (size_t)key, value, err);
}

int lb_own_read_logins(const char *path, struct lb_error *err) {
  int section = -1;
  struct lb_own_file file = {"--auth", "[redis] and the like, or user=, password=, tls=, ca=", begin_section, put_key,
                             &section};
  return lb_own_file_read(&file, path, err);
}

/* ---- and nowhere else ------------------------------------------------------------------------- */

/* What namespaces there can be has to be tried before that. */
void lb_own_keep_secrets(void) {
  bool any = false;
  for (size_t i = 0; i < LB_LOGIN_COUNT; i++) any |= logins[i].password[0] != '\0';
  if (!any) return;
  lb_isolation_probe();
  prctl(PR_SET_DUMPABLE, 0);
}

void lb_own_forget_logins(void) {
  explicit_bzero(logins, sizeof logins);
  prctl(PR_SET_DUMPABLE, 1);
}
