/* SPDX-License-Identifier: MIT
 *
 * The journal of a hunt: "ID,GUARD,CAME,WHY" a line, appended and flushed trial by trial. A last line that was cut off by a death is passed over.
 */
#include "book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/refuse.h"

enum { LINE = 600 };
/* 2: what came of a trial has classes of its own for damage and numbers, which older journals call `lease`. */
#define HEAD "# hunt 2 of "

/* Of its first line. */
static uint64_t number_of(const char *text) { return lb_hash(LB_HASH_BEGIN, text, strcspn(text, "\n")); }

static void doubt(struct lb_hunt_doubt *d, const char *why) {
  uint64_t number = number_of(why);
  d->same = d->same > 0 && d->why == number ? d->same + 1 : 1;
  d->why = number;
}

static void count(struct lb_hunt_book *b, size_t timeline, enum lb_guard guard, enum lb_hunt_came came, const char *why) {
  b->count[timeline][guard].of[came]++;
  b->trials++;
  b->undecided += came == LB_HUNT_UNDECIDED;
  if (came == LB_HUNT_UNDECIDED) doubt(&b->doubt[timeline][guard], why);
  if (came == LB_HUNT_UNDECIDED) snprintf(b->why[timeline], sizeof b->why[timeline], "%s", why);
}

/* A timeline that this space does not have (any more) is of another program: refused, for its results would be mixed with others. */
static int take_line(struct lb_hunt_book *b, char *line) {
  char err[200], *rest = NULL;
  const char *id = strtok_r(line, ",", &rest), *guard = strtok_r(NULL, ",", &rest), *came = strtok_r(NULL, ",\n", &rest);
  struct lb_hunt_timeline timeline;
  if (!id || !guard || !came || lb_hunt_of_id(id, &timeline, err, sizeof err) < 0) return -EINVAL;
  ptrdiff_t at = lb_hunt_find(b->space, &timeline);
  int g = lb_guard_find(guard), c = lb_hunt_came_find(came);
  if (at < 0 || g < 0 || c < 0) return -EINVAL;
  count(b, (size_t)at, (enum lb_guard)g, (enum lb_hunt_came)c, rest ? strtok_r(NULL, "\n", &rest) : "");
  return 0;
}

/* `of` stands in the first line. An empty file is a new one. */
static int take(struct lb_hunt_book *b, const char *path, const char *of, char *err, size_t err_size) {
  char line[LINE];
  int number = 1;
  rewind(b->file);
  if (!fgets(line, sizeof line, b->file)) return fprintf(b->file, HEAD "%s\n", of) < 0 || fflush(b->file) ? -EIO : 0;
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, HEAD, sizeof HEAD - 1) != 0 || strcmp(line + sizeof HEAD - 1, of) != 0)
    return lb_refuse(err, err_size, "%s:1: found '%.100s', expected '" HEAD "%s': to go on with a hunt, ask for the same one", path, line, of);
  while (fgets(line, sizeof line, b->file)) {
    number++;
    if (!strchr(line, '\n')) return 0; /* cut off by a death */
    if (take_line(b, line) < 0) return lb_refuse(err, err_size, "%s:%d: found '%.100s', expected TIMELINE,GUARD,RESULT", path, number, line);
  }
  return 0;
}

int lb_hunt_book_open(struct lb_hunt_book *book, const struct lb_hunt_space *space, const char *path, const char *of, char *err, size_t err_size) {
  *book = (struct lb_hunt_book){.space = space, .file = fopen(path, "a+e")};
  if (!book->file) return lb_refuse(err, err_size, "cannot write %s: %s", path, strerror(errno)), -errno;
  book->count = calloc(space->count + 1, sizeof *book->count);
  book->why = calloc(space->count + 1, sizeof *book->why);
  book->doubt = calloc(space->count + 1, sizeof *book->doubt);
  book->replay = calloc(space->count + 1, sizeof *book->replay);
  int r = book->count && book->why && book->doubt && book->replay ? take(book, path, of, err, err_size) : lb_refuse(err, err_size, "out of memory");
  book->read = book->trials;
  if (r < 0) lb_hunt_book_close(book);
  return r;
}

void lb_hunt_book_add(struct lb_hunt_book *book, size_t timeline, enum lb_guard guard, enum lb_hunt_came came, const char *why) {
  char id[LB_HUNT_ID_MAX];
  lb_hunt_id(&book->space->timeline[timeline], id);
  fprintf(book->file, "%s,%s,%s,%.*s\n", id, lb_guard_name(guard), lb_hunt_came_name(came), (int)strcspn(why, "\n"), why);
  fflush(book->file);
  count(book, timeline, guard, came, why);
}

const struct lb_hunt_count *lb_hunt_seen(const struct lb_hunt_book *book, size_t timeline) { return &book->count[timeline][book->guard]; }

bool lb_hunt_is_hopeless(const struct lb_hunt_book *book, size_t timeline, enum lb_guard guard) { return book->doubt[timeline][guard].same >= 2; }

int lb_hunt_book_close(struct lb_hunt_book *book) {
  int failed = ferror(book->file);
  failed |= fclose(book->file);
  free(book->count);
  free(book->why);
  free(book->doubt);
  free(book->replay);
  *book = (struct lb_hunt_book){0};
  return failed ? -EIO : 0;
}
