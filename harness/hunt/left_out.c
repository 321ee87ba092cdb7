/* SPDX-License-Identifier: MIT
 *
 * What a hunt is told to do without, in words: kinds of faults as ids have them, and client 3. One list of words reads and writes them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/refuse.h"
#include "base/suggest.h"
#include "space.h"

enum { CLIENT_3 = LB_HUNT_KIND_COUNT, WORDS };

static const char *word_of(int word) { return word == CLIENT_3 ? "client-3" : lb_hunt_kind_name((enum lb_hunt_kind)word); }

static bool is_left_out(const struct lb_hunt_switches *switches, int word) { return word == CLIENT_3 ? switches->no_client_3 : switches->without >> word & 1; }

static int refuse(const char *found, char *err, size_t err_size) {
  const char *words[WORDS];
  for (int i = 0; i < WORDS; i++) words[i] = word_of(i);
  const char *near = lb_suggest(found, words, WORDS);
  if (near) return lb_refuse(err, err_size, "--without %s: no kind of fault, nor client-3, did you mean '%s'?", found, near);
  return lb_refuse(err, err_size, "--without %s: no kind of fault, nor client-3, see the ids of `hunt --list`", found);
}

int lb_hunt_leave_out(const char *words, struct lb_hunt_switches *ret, char *err, size_t err_size) {
  *ret = (struct lb_hunt_switches){0};
  for (const char *at = words; *at; at += strspn(at, ",")) {
    char found[40];
    size_t size = strcspn(at, ",");
    snprintf(found, sizeof found, "%.*s", (int)size, at);
    int word = 0;
    while (word < WORDS && strcmp(word_of(word), found) != 0) word++;
    if (word == WORDS) return refuse(found, err, err_size);
    if (word == CLIENT_3) ret->no_client_3 = true;
    else ret->without |= 1u << word;
    at += size;
  }
  return 0;
}

void lb_hunt_left_out(const struct lb_hunt_switches *switches, char ret[LB_HUNT_WITHOUT_MAX]) {
  size_t at = 0;
  ret[0] = '\0';
  for (int i = 0; i < WORDS && at < LB_HUNT_WITHOUT_MAX; i++)
    if (is_left_out(switches, i)) at += (size_t)snprintf(ret + at, LB_HUNT_WITHOUT_MAX - at, "%s%s", at ? "," : "", word_of(i));
}
