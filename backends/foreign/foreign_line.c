/* SPDX-License-Identifier: MIT
 *
 * Words of the line protocol: apart, together, and as they may be printed; then what they say.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "foreign_line.h"
#include "base/error.h"

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place: what it says is never longer than what it was. */
static int decode(char *word) {
  char *to = word;
  for (const char *from = word; *from; from++) {
    if (*from != '%') {
      *to++ = *from;
      continue;
    }
    int high = digit(from[1]), low = high < 0 ? -1 : digit(from[2]);
    if (low < 0 || high * 16 + low == 0) return -EINVAL;
    *to++ = (char)(high * 16 + low);
    from += 2;
  }
  *to = '\0';
  return 0;
}

int foreign_line_split(char *line, struct foreign_words *ret) {
  ret->count = 0;
  for (char *rest = line, *word; (word = strsep(&rest, " "));) {
    if (!*word) continue;
    if (ret->count == FOREIGN_WORDS_MAX) return -EINVAL;
    /* A text for people stands without a name, and is not encoded. */
    if (strchr(word, '=') && decode(word) < 0) return -EINVAL;
    ret->word[ret->count++] = word;
  }
  return 0;
}

const char *foreign_line_value(const struct foreign_words *words, size_t first, const char *name) {
  size_t length = strlen(name);
  for (size_t i = first; i < words->count; i++)
    if (strncmp(words->word[i], name, length) == 0 && words->word[i][length] == '=') return words->word[i] + length + 1;
  return NULL;
}

bool foreign_line_append(char *line, size_t size, const char *text) {
  size_t length = strlen(line);
  return (size_t)snprintf(line + length, size - length, "%s", text) < size - length;
}

bool foreign_line_append_value(char *line, size_t size, const char *text, bool url) {
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    char piece[4];
    bool plain = url ? isalnum(c) || strchr("-._~", c) : c > ' ' && c < 0x7f && c != '%';
    snprintf(piece, sizeof piece, plain ? "%c" : "%%%02X", c);
    if (!foreign_line_append(line, size, piece)) return false;
  }
  return true;
}

void foreign_line_quote(const char *text, char *buf, size_t size) {
  size_t n = 0;
  for (; *text && n + 4 < size; text++)
    buf[n++] = (unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ? '?' : *text;
  snprintf(buf + n, size - n, "%s", *text ? "..." : "");
}

/* ---- the first line of an adapter: what its lock is, in words that become traits and hooks. Each word has one table or one line here. ---- */

#define GREETING "lockbench-adapter "
#define SPOKEN "1"

const char *foreign_line_first(const char *line, struct lb_error *err) {
  char quoted[120];
  foreign_line_quote(line, quoted, sizeof quoted);
  const char *rest = line + strlen(GREETING);
  if (strncmp(line, GREETING, strlen(GREETING)) != 0)
    return lb_refuse(err, "its first line is '%s', expected 'lockbench-adapter 1 name=... topologies=... ends=...'",
                     quoted),
           NULL;
  if (strncmp(rest, SPOKEN " ", strlen(SPOKEN " ")) == 0) return rest + strlen(SPOKEN " ");
  return lb_refuse(err, "it speaks another version of the line protocol ('%s'), expected 'lockbench-adapter 1 ...'",
                   quoted),
         NULL;
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

/* The words of a list with commas, one after the other; NULL at its end. */
static const char *next_of(const char **rest, char *buf, size_t size) {
  size_t length = strcspn(*rest, ",");
  if (!**rest) return NULL;
  snprintf(buf, size, "%.*s", (int)length, *rest);
  *rest += length + ((*rest)[length] == ',');
  return buf;
}

static bool is_plain(const char *text) {
  return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

static int read_topologies(const char *list, struct foreign_says *ret, struct lb_error *err) {
  char word[64];
  while (next_of(&list, word, sizeof word)) {
    if (!is_plain(word) || strlen(word) >= sizeof ret->topology[0])
      return lb_refuse(err, "topologies: '%s' is no name of a topology", word);
    if (ret->topology_count == FOREIGN_TOPOLOGIES_MAX)
      return lb_refuse(err, "topologies: at most %d", FOREIGN_TOPOLOGIES_MAX);
    snprintf(ret->topology[ret->topology_count++], sizeof ret->topology[0], "%.31s", word);
  }
  return ret->topology_count ? 0
                             : lb_refuse(err, "topologies= names none, expected some of `lockbench list topologies`");
}

static int read_ends(const char *word, struct foreign_says *ret, struct lb_error *err) {
  static const struct {
    const char *word;
    unsigned trait;
  } ends[] = {{"lease", LB_TRAIT_LEASED}, {"session", LB_TRAIT_SESSION}, {"never", LB_TRAIT_NO_EXPIRY}};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (strcmp(ends[i].word, word) == 0) return ret->traits |= ends[i].trait, 0;
  return lb_refuse(err, "ends=%s: expected lease, session or never", word);
}

static int read_can(const char *list, struct foreign_says *ret, struct lb_error *err) {
  char word[64];
  while (next_of(&list, word, sizeof word)) {
    if (strcmp(word, "extend") == 0) ret->can_extend = true;
    else if (strcmp(word, "holds") == 0) ret->can_holds = true;
    else if (strcmp(word, "validity") == 0) ret->can_validity = true;
    else if (strcmp(word, "signal") == 0) ret->can_signal = true;
    else if (strcmp(word, "stop") == 0) ret->can_stop = true;
    else if (strcmp(word, "token") == 0) ret->can_token = true;
    else if (strcmp(word, "work") == 0) ret->can_work = true;
    else if (strcmp(word, "record") == 0) ret->can_record = true;
    else if (strcmp(word, "fence") == 0) ret->traits |= LB_TRAIT_FENCED;
    else if (strcmp(word, "reentrant") == 0) ret->traits |= LB_TRAIT_REENTRANT;
    else if (strcmp(word, "shared") == 0) ret->traits |= LB_TRAIT_SHARED;
    else if (strcmp(word, "permits") == 0) ret->traits |= LB_TRAIT_PERMITS;
    else
      return lb_refuse(
          err,
          "can: '%s' is unknown, expected extend, holds, fence, validity, signal, reentrant, shared, permits, stop, token, work or record",
          word);
  }
  return 0;
}

static int read_records(const char *list, struct foreign_says *ret, struct lb_error *err) {
  char word[128];
  while (next_of(&list, word, sizeof word)) {
    if (ret->record_count == FOREIGN_RECORDS_MAX) return lb_refuse(err, "record: at most %d", FOREIGN_RECORDS_MAX);
    snprintf(ret->record[ret->record_count++], sizeof ret->record[0], "%s", word);
  }
  return 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static int read_word(const char *name, const char *value, struct foreign_says *ret, struct lb_error *err) {
  if (strcmp(name, "name") == 0) {
    if (!is_plain(value) || strlen(value) >= sizeof ret->name)
      return lb_refuse(err, "name=%.60s: expected up to 47 of a-z, 0-9 and '-'", value);
    return snprintf(ret->name, sizeof ret->name, "%s", value), 0;
  }
  if (strcmp(name, "version") == 0) return foreign_line_quote(value, ret->version, sizeof ret->version), 0;
  if (strcmp(name, "topologies") == 0) return read_topologies(value, ret, err);
  if (strcmp(name, "ends") == 0) return read_ends(value, ret, err);
  if (strcmp(name, "can") == 0) return read_can(value, ret, err);
  if (strcmp(name, "record") == 0) return read_records(value, ret, err);
  if (strcmp(name, "clock") == 0) {
    if (strcmp(value, "no") == 0) ret->traits |= LB_TRAIT_TRUE_CLOCK;
    else if (strcmp(value, "yes") != 0) return lb_refuse(err, "clock=%.60s: expected yes or no", value);
  }
  if (strcmp(name, "shared") == 0 || strcmp(name, "permits") == 0 || strcmp(name, "mode") == 0)
    return lb_refuse(err, "%s=%.60s: expected a lock that one client holds at a time", name, value);
  return 0; /* a later version of the line protocol may say more */
}

int foreign_line_read_says(char *text, struct foreign_says *ret, struct lb_error *err) {
  struct foreign_words words;
  *ret = (struct foreign_says){.traits = LB_TRAIT_FOREIGN | LB_TRAIT_WAITS_INSIDE};
  if (foreign_line_split(text, &words) < 0)
    return lb_refuse(err, "its first line has too many words, or a '%%' without two digits");
  for (size_t i = 0; i < words.count; i++) {
    char *equals = strchr(words.word[i], '=');
    if (!equals) return lb_refuse(err, "'%.60s': expected NAME=VALUE", words.word[i]);
    *equals = '\0';
    int r = read_word(words.word[i], equals + 1, ret, err);
    if (r < 0) return r;
  }
  if (!ret->name[0]) return lb_refuse(err, "its first line has no name=");
  if (!ret->topology_count) return lb_refuse(err, "its first line has no topologies=");
  if (!(ret->traits & (LB_TRAIT_LEASED | LB_TRAIT_SESSION | LB_TRAIT_NO_EXPIRY)))
    return lb_refuse(err, "its first line has no ends=");
  return 0;
}

/* ---- where the servers are ------------------------------------------------------------------------------------- */

/* redis://user:password@host:port */
static void append_endpoint(char *line, size_t size, const struct lb_endpoint *at) {
  char port[16];
  const char *user = at->user || strcmp(at->service, "postgres") != 0 ? at->user : "lockbench"; /* as pg_open() */
  foreign_line_append(line, size, " server=");
  foreign_line_append(line, size, at->service);
  foreign_line_append(line, size, at->tls ? "s://" : "://");
  if (at->password) {
    if (user) foreign_line_append_value(line, size, user, true);
    foreign_line_append(line, size, ":");
    foreign_line_append_value(line, size, at->password, true);
    foreign_line_append(line, size, "@");
  } else if (user) {
    foreign_line_append_value(line, size, user, true);
    foreign_line_append(line, size, "@");
  }
  const char *open = strchr(at->host, ':') ? "[" : "", *close = *open ? "]" : "";
  foreign_line_append(line, size, open);
  foreign_line_append_value(line, size, at->host, false);
  foreign_line_append(line, size, close);
  snprintf(port, sizeof port, ":%u", at->port);
  foreign_line_append(line, size, port);
}

/* " server=URL". The percent signs of an URL are those of a value once more: an adapter takes one layer off, and its URL
 * parser the other. */
static bool append_server(char *line, size_t size, const struct lb_endpoint *at) {
  char server[LB_FOREIGN_LINE_MAX] = "";
  append_endpoint(server, sizeof server, at);
  for (const char *c = server; *c; c++) {
    char piece[4];
    snprintf(piece, sizeof piece, *c == '%' ? "%%25" : "%c", *c);
    if (!foreign_line_append(line, size, piece)) return false;
  }
  return true;
}

bool foreign_line_record(const struct lb_config *c, const char *key, size_t endpoint, char *line, size_t size) {
  snprintf(line, size, "record key=%s", key);
  return endpoint >= c->target->count || append_server(line, size, &c->target->endpoints[endpoint]);
}

bool foreign_line_open(const struct lb_config *c, char *line, size_t size) {
  snprintf(line, size, "open topology=%s client=%s prefix=%s ttl_ms=%lld", c->target->topology, c->client, c->prefix,
           (long long)c->ttl_ms);
  for (size_t i = 0; i < c->target->count; i++)
    if (!append_server(line, size, &c->target->endpoints[i])) return false;
  return !c->target->sentinel_master || (foreign_line_append(line, size, " master=") &&
                                         foreign_line_append_value(line, size, c->target->sentinel_master, false));
}
