/* SPDX-License-Identifier: MIT
 *
 * Operations of other tools, made into events; and the reader of those in CSV. What is not certain never makes a hold:
 * an acquire without an answer is `unknown`, and a release ends the hold when it is invoked, whatever comes of it.
 * docs/histories-of-others.md says what that leaves unjudged.
 */
#include "history_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/need.h"
#include "history_names.h"

const char *const lb_op_types[LB_OP_TYPE_COUNT] = {"invoke", "ok", "fail", "info"};
const char *const lb_op_fs[LB_OP_F_COUNT] = {"acquire", "release", "refresh", "extend"};
const struct lb_op lb_no_op = {.time = -1,
                               .index = -1,
                               .says = LB_NO_NAME,
                               .process = LB_NO_NAME,
                               .owner = LB_NO_NAME,
                               .key = LB_NO_NAME,
                               .named = LB_NO_NAME};

struct lb_process {
  bool asks;       /* it has invoked an operation that has not ended */
  struct lb_op op; /* its latest */
  size_t begun;    /* its latest invoke, in lb_ops.ops */
  uint32_t owner;  /* the first that it named, who is meant where it names none */
  bool several;    /* it named others, too: none can be meant */
};

void lb_ops_begin(struct lb_ops *ops, struct lb_history *to) { *ops = (struct lb_ops){.to = to, .last_index = -1}; }

void lb_ops_clear(struct lb_ops *ops) {
  lb_history_clear(&ops->names);
  free(ops->ops);
  free(ops->processes);
  *ops = (struct lb_ops){0};
}

static void *grown(void *array, size_t wanted, size_t *capacity, size_t item) {
  if (wanted <= *capacity) return array;
  *capacity = wanted * 2;
  return lb_need(realloc(array, *capacity * item));
}

uint32_t lb_ops_process(struct lb_ops *ops, const char *name) {
  uint32_t number = lb_names_add(&ops->names.clients, name);
  size_t had = ops->process_capacity;
  ops->processes = grown(ops->processes, number + 1, &ops->process_capacity, sizeof *ops->processes);
  for (size_t i = had; i < ops->process_capacity; i++)
    ops->processes[i] = (struct lb_process){.op = lb_no_op, .owner = LB_NO_NAME};
  return number;
}

int lb_op_word(const struct lb_line *line, const char *what, const char *text, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(words[i], text) == 0) return (int)i;
  return lb_history_refuse_word(line, what, text, words, count);
}

int lb_op_f_of(const struct lb_line *line, const char *what, const char *text) {
  int f = lb_history_names_find(text);
  if (f >= 0) return f;
  f = lb_op_word(line, what, text, lb_op_fs, LB_OP_F_COUNT);
  size_t length = strlen(line->err->text);
  if (f < 0) snprintf(line->err->text + length, sizeof line->err->text - length, ", or --as NAME=acquire");
  return f;
}

/* ---- what can follow what ---------------------------------------------------------------------------------------- */

static int check_order(struct lb_ops *ops, const struct lb_line *line, const struct lb_op *op) {
  if (ops->count && (op->time >= 0) != (ops->ops[0].time >= 0))
    return lb_history_refuse_line(line, "found an operation %s a time, expected one on all operations or on none",
                                  op->time >= 0 ? "with" : "without");
  if (op->index >= 0 && op->index <= ops->last_index)
    return lb_history_refuse_line(line, "found index %lld after %lld, expected operations in the order of their index",
                                  (long long)op->index, (long long)ops->last_index);
  if (op->index >= 0) ops->last_index = op->index;
  return 0;
}

/* Key and client may be left out at one end. */
static int check_end(const struct lb_line *line, const char *name, struct lb_process *p, const struct lb_op *op) {
  if (!p->asks)
    return lb_history_refuse_line(line, "found \"%s\" of process %s, expected \"invoke\" before it",
                                  lb_op_types[op->type], name);
  if (op->f != p->op.f)
    return lb_history_refuse_line(line, "found the end of \"%s\" of process %s, expected that of \"%s\" of line %zu",
                                  lb_op_fs[op->f], name, lb_op_fs[p->op.f], p->op.line);
  bool key = op->key != LB_NO_NAME && p->op.key != LB_NO_NAME && op->key != p->op.key;
  bool owner = op->owner != LB_NO_NAME && p->op.owner != LB_NO_NAME && op->owner != p->op.owner;
  if (key || owner)
    return lb_history_refuse_line(
        line, "found another %s than at the \"invoke\" of process %s in line %zu, expected the same",
        key ? "key" : "client", name, p->op.line);
  return 0;
}

static int check_process(const struct lb_line *line, const char *name, struct lb_process *p, const struct lb_op *op) {
  if (op->time < p->op.time)
    return lb_history_refuse_line(
        line, "found an earlier time than in line %zu of the same process, %s, expected a later one", p->op.line, name);
  if (op->type == LB_OP_INVOKE && p->asks)
    return lb_history_refuse_line(
        line, "found a second \"invoke\" of process %s, expected the end of that of line %zu first", name, p->op.line);
  return op->type == LB_OP_INVOKE ? 0 : check_end(line, name, p, op);
}

/* What one end of an operation says holds for the other one. */
static void complete(struct lb_ops *ops, struct lb_process *p, struct lb_op *op) {
  if (op->type == LB_OP_INVOKE) p->begun = ops->count;
  struct lb_op *begin = op->type == LB_OP_INVOKE ? op : &ops->ops[p->begun];
  op->begun = p->begun;
  if (op->key != LB_NO_NAME) begin->key = op->key;
  if (op->owner != LB_NO_NAME) begin->owner = op->owner;
  op->owner = begin->owner;
  if (p->owner == LB_NO_NAME) p->owner = op->owner;
  p->several |= op->owner != LB_NO_NAME && op->owner != p->owner;
  p->asks = op->type == LB_OP_INVOKE;
  p->op = *op;
}

int lb_ops_add(struct lb_ops *ops, const struct lb_line *line, const struct lb_op *given) {
  struct lb_op op = *given;
  op.line = line->number;
  int r = check_order(ops, line, &op);
  if (r == 0 && !op.mark) {
    struct lb_process *p = &ops->processes[op.process];
    r = check_process(line, ops->names.clients.name[op.process], p, &op);
    if (r == 0) complete(ops, p, &op);
  }
  if (r < 0) return r;
  ops->ops = grown(ops->ops, ops->count + 1, &ops->capacity, sizeof *ops->ops);
  ops->ops[ops->count++] = op;
  return 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* The event of an operation; 0 = none. A release that failed or has no answer had ended the hold when it was invoked. */
static uint16_t kind_of(const struct lb_op *op) {
  static const uint16_t kinds[LB_OP_F_COUNT][LB_OP_TYPE_COUNT] = {
      {LB_EV_ACQUIRE, LB_EV_GRANTED, LB_EV_TIMEOUT, LB_EV_UNKNOWN},
      {LB_EV_RELEASE, LB_EV_RELEASED, 0, 0},
      {LB_EV_RENEW, LB_EV_RENEWED, LB_EV_NOT_RENEWED, LB_EV_NOT_RENEWED},
      {LB_EV_RENEW, LB_EV_RENEWED, LB_EV_NOT_RENEWED, LB_EV_NOT_RENEWED},
  };
  return op->mark ? LB_EV_NOTE : kinds[op->f][op->type];
}

static uint32_t client_of(struct lb_ops *ops, const struct lb_op *op) {
  char name[80];
  uint32_t owner = ops->ops[op->begun].owner;
  if (owner == LB_NO_NAME) owner = ops->processes[op->process].owner;
  if (owner != LB_NO_NAME) return owner;
  snprintf(name, sizeof name, "process %.60s", ops->names.clients.name[op->process]);
  return lb_names_add(&ops->to->clients, name);
}

/* Keys count if some operation has one, or if all of them name one. */
static bool has_keys(const struct lb_ops *ops) {
  bool asked = false, all = true;
  for (size_t i = 0; i < ops->count; i++) {
    const struct lb_op *op = &ops->ops[i];
    if (op->mark || op->type != LB_OP_INVOKE) continue;
    if (op->key != LB_NO_NAME) return true;
    asked = true;
    all &= op->named != LB_NO_NAME;
  }
  return asked && all;
}

/* An acquire with a key and a release without would make a hold without end, and so would one for a client that is not
 * named. */
static int check_complete(const struct lb_ops *ops, const struct lb_line *line, struct lb_op *op, bool keyed) {
  struct lb_line at = {line->name, op->line, line->err};
  if (op->mark || op->type != LB_OP_INVOKE) return 0;
  if (keyed && op->key == LB_NO_NAME) op->key = op->named;
  if (keyed && op->key == LB_NO_NAME)
    return lb_history_refuse_line(&at, "found an \"invoke\" without a key, expected one on each or on none");
  if (op->owner != LB_NO_NAME || !ops->processes[op->process].several) return 0;
  return lb_history_refuse_line(
      &at, "found an operation without a client, of process %s that works for several, expected one on each of its own",
      ops->names.clients.name[op->process]);
}

static void add_check(struct lb_event *event, enum lb_op_type type) {
  event->flags |= LB_EVF_CHECK;
  event->check = type == LB_OP_FAIL ? LB_CHECK_TOLD_NO : LB_CHECK_NO_ANSWER;
}

/* Only when all were read is it known who the client of a process is, and on which key it had asked. */
int lb_ops_finish(struct lb_ops *ops, const struct lb_line *line) {
  bool keyed = has_keys(ops);
  for (size_t i = 0; i < ops->count; i++) {
    struct lb_op *op = &ops->ops[i];
    int r = check_complete(ops, line, op, keyed);
    if (r < 0) return r;
    struct lb_event event = {.kind = kind_of(op), .client = LB_NO_NAME, .key = LB_NO_NAME, .fact = LB_NO_NAME};
    event.t = op->time >= 0 ? (uint64_t)op->time : i;
    event.s = op->line;
    if (event.kind == 0) continue;
    if (op->mark) {
      struct lb_fact fact = lb_no_fact;
      fact.what = op->says;
      event.fact = lb_history_facts_add(ops->to, &fact);
    } else {
      event.client = client_of(ops, op);
      event.key = keyed ? ops->ops[op->begun].key : lb_names_add(&ops->to->keys, "lock");
      event.flags = event.kind == LB_EV_GRANTED && op->fence > 0 ? LB_EVF_FENCE : 0;
      event.fence = event.flags ? (uint64_t)op->fence : 0;
      if (event.kind == LB_EV_NOT_RENEWED) add_check(&event, op->type);
    }
    lb_history_add(ops->to, &event);
  }
  ops->to->lines = true;
  return 0;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

enum column { C_PROCESS, C_TYPE, C_F, C_TIME_NS, C_INDEX, C_KEY, C_VALUE, C_FENCE, C_CLIENT, C_COUNT };
static const char *const columns[C_COUNT] = {"process", "type",  "f",     "time_ns", "index",
                                             "key",     "value", "fence", "client"};

static int read_columns(const struct lb_line *line, const struct lb_csv *csv, int ret[C_COUNT]) {
  for (size_t c = 0; c < C_COUNT; c++) ret[c] = -1;
  for (size_t i = 0; i < csv->columns; i++) {
    size_t c = 0;
    while (c < C_COUNT && strcmp(columns[c], csv->header[i]) != 0) c++;
    if (c == C_COUNT) return lb_history_refuse_word(line, "unknown column", csv->header[i], columns, C_COUNT);
    if (ret[c] >= 0) return lb_history_refuse_line(line, "found column \"%s\" twice, expected each once", columns[c]);
    ret[c] = (int)i;
  }
  for (size_t c = C_PROCESS; c <= C_F; c++)
    if (ret[c] < 0)
      return lb_history_refuse_line(line, "found no column \"%s\", expected one in the header", columns[c]);
  return 0;
}

/* "" = it is not there. */
static const char *field(const struct lb_csv *csv, const int at[C_COUNT], enum column column) {
  return at[column] < 0 ? "" : csv->field[at[column]];
}

static int read_whole(const struct lb_line *line, enum column column, const char *text, int64_t *ret) {
  size_t digits = strspn(text, "0123456789");
  if (!*text) return 0;
  errno = 0;
  *ret = strtoll(text, NULL, 10);
  if (text[digits] || errno)
    return lb_history_refuse_line(line, "found \"%.40s\" in \"%s\", expected an integer from 0 to 2^63 - 1", text,
                                  columns[column]);
  return 0;
}

/* A process that is no number is none of the clients. */
static int read_record(struct lb_ops *ops, const struct lb_line *line, const struct lb_csv *csv,
                       const int at[C_COUNT]) {
  struct lb_op op = lb_no_op;
  int type = 0, f = 0;
  const char *process = field(csv, at, C_PROCESS), *key = field(csv, at, C_KEY), *client = field(csv, at, C_CLIENT);
  int r = read_whole(line, C_TIME_NS, field(csv, at, C_TIME_NS), &op.time);
  if (r == 0) r = read_whole(line, C_INDEX, field(csv, at, C_INDEX), &op.index);
  if (r == 0) r = read_whole(line, C_FENCE, field(csv, at, C_FENCE), &op.fence);
  if (r == 0) r = type = lb_op_word(line, "unknown type", field(csv, at, C_TYPE), lb_op_types, LB_OP_TYPE_COUNT);
  if (r >= 0 && !*process)
    r = lb_history_refuse_line(line, "found no process, expected a number, or the name of no client");
  op.mark = process[strspn(process, "0123456789")] != '\0';
  if (r >= 0 && !op.mark) r = f = lb_op_f_of(line, "unknown f", field(csv, at, C_F));
  if (r < 0) return r;
  op.type = (enum lb_op_type)type, op.f = (enum lb_op_f)f;
  if (op.mark) {
    char says[300];
    snprintf(says, sizeof says, "%.60s %.60s %.160s", process, field(csv, at, C_F), field(csv, at, C_VALUE));
    op.says = lb_names_add(&ops->to->texts, says);
  } else {
    op.process = lb_ops_process(ops, process);
    if (*key) op.key = lb_names_add(&ops->to->keys, key);
    if (*client) op.owner = lb_names_add(&ops->to->clients, client);
  }
  return lb_ops_add(ops, line, &op);
}

/* Only this form begins with names between commas. */
bool lb_history_is_csv(const char *data, size_t size) {
  const char *end = memchr(data, '\n', size);
  size_t length = end ? (size_t)(end - data) : size;
  bool name = length > 0 && ((*data >= 'a' && *data <= 'z') || (*data >= 'A' && *data <= 'Z'));
  return name && memchr(data, ',', length);
}

int lb_history_parse_csv(const char *name, const char *data, size_t size, struct lb_history *ret,
                         struct lb_error *err) {
  struct lb_line line = {.name = name, .number = 1, .err = err};
  struct lb_csv csv;
  struct lb_ops ops;
  int at[C_COUNT], r = lb_csv_parse(name, data, size, &csv, err);
  if (r < 0) return r;
  lb_ops_begin(&ops, ret);
  r = read_columns(&line, &csv, at);
  while (r == 0 && (r = lb_csv_next(&csv, err)) > 0) {
    line.number = (size_t)csv.line;
    r = read_record(&ops, &line, &csv, at);
  }
  if (r == 0) r = lb_ops_finish(&ops, &line);
  lb_ops_clear(&ops);
  lb_csv_close(&csv);
  return r;
}
