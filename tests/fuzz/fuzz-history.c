/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a history file. What is accepted must be written in both forms and read back the same, and
 * must be judged, measured and printed without harm; a small history must be judged as by the brute-force checker.
 *
 * clang -fsanitize=fuzzer looks for new inputs (CONTRIBUTING.md); with fuzz_main.c the corpus is a test.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check/check.h"
#include "check/evidence.h"
#include "story/check_print.h"
#include "story/explain.h"
#include "history/history_load.h"
#include "story/say.h"
#include "check/stats.h"
#include "brute.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz-history: %s\n", what);
  abort();
}

static void same_after(const struct lb_history *h, int (*write_form)(const struct lb_history *, FILE *),
                       char **ret_json) {
  struct lb_error err;
  char *text = NULL;
  size_t size = 0;
  struct lb_history again;
  FILE *out = open_memstream(&text, &size);
  demand(out && write_form(h, out) == 0, "an accepted history could not be written");
  fclose(out);
  demand(lb_history_parse("again", text, size, &again, &err) == 0, err.text);
  demand(again.count == h->count, "events were lost on the way");
  free(text);
  out = open_memstream(&text, &size);
  demand(out && lb_history_write_json(&again, out) == 0, "a written history could not be written again");
  fclose(out);
  lb_history_clear(&again);
  *ret_json = text;
}

static void write_and_read(const struct lb_history *h) {
  char *through_json, *through_binary;
  same_after(h, lb_history_write_json, &through_json);
  same_after(h, lb_history_write, &through_binary);
  demand(strcmp(through_json, through_binary) == 0, "the two forms differ");
  free(through_json);
  free(through_binary);
}

static void judge(const struct lb_history *h, bool past_lease) {
  struct lb_check check, brute;
  char text[200];
  lb_check_history(h, &check);
  demand(check.episode_count == check.double_holds, "episodes and double holds differ");
  if (h->count <= 60) {
    brute_check(h, &brute);
    demand(brute_same(h, &check, &brute, text, sizeof text), text);
    lb_check_clear(&brute);
  }
  json_t *json = lb_check_json(h, &check, past_lease);
  demand(json && json_array_size(json_object_get(json, "episodes")) == check.episode_count, "an episode has no JSON");
  json_decref(json);
  char *printed = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&printed, &size);
  if (out) {
    lb_check_print(h, &check, past_lease, 3, out);
    if (h->count <= 2000) /* clients times keys times events */
      lb_explain(h, &check, &(struct lb_explain_about){.ttl_ns = 1000}, out);
    fclose(out);
  }
  free(printed);
  lb_check_clear(&check);
}

/* A fact has words, and they are of one line that moves no cursor. */
static void say(const struct lb_history *h) {
  for (size_t i = 0; i < h->count; i++) {
    char *said = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&said, &size);
    demand(out != NULL, "out of memory");
    lb_say_event(h, &h->events[i], out);
    fclose(out);
    demand(lb_event_is_fact(&h->events[i]) || size == 0, "an event that is no fact was said");
    for (size_t at = 0; at < size; at++)
      demand((unsigned char)said[at] >= ' ' && said[at] != 127, "a fact was said with control codes");
    free(said);
  }
}

static void measure(const struct lb_history *h) {
  static struct lb_stats stats;
  lb_stats_history(h, &stats);
  demand(stats.wait.count <= stats.grants + stats.busy + stats.timeouts + stats.unknowns &&
             stats.handoff.count <= stats.grants,
         "more waits than attempts");
  lb_stats_clear(&stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lb_history h;
  struct lb_error err = {0};
  int r = lb_history_parse("input", data, size, &h, &err);
  if (r < 0) {
    demand(strncmp(err.text, "input:", 6) == 0 && !strchr(err.text, '\n'),
           "a refusal does not name the place in one line");
    return 0;
  }
  write_and_read(&h);
  if (h.count <= 2000) say(&h);
  judge(&h, size % 2);
  measure(&h);
  lb_history_clear(&h);
  return 0;
}
