/* SPDX-License-Identifier: MIT
 *
 * The file is read whole and cut up in place: a field is a pointer into it, quotes are squeezed out
 * where they stand. Records are refused rather than repaired: a field too many or a stray quote
 * means that the columns cannot be trusted.
 */
#include "csv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "need.h"

enum { TEXT_MAX = 1 << 30 };

static int read_text(const char *path, char **ret_data) {
  size_t size;
  FILE *file = lb_files_open(path);
  if (!file) return -errno;
  int r = lb_files_read_all(fileno(file), TEXT_MAX, ret_data, &size);
  fclose(file);
  if (r < 0 || strlen(*ret_data) == size) return r;
  free(*ret_data);
  *ret_data = NULL;
  return -EINVAL; /* a zero byte: no text */
}

/* Cuts the quoted field that begins after its opening quote at *at; *at moves behind the closing
 * quote. False without one. */
static bool cut_quoted(struct lb_csv *csv, char **at) {
  char *to = *at, *from = *at;
  for (; *from; from++) {
    if (*from == '"' && from[1] != '"') {
      *to = '\0';
      *at = from + 1;
      return true;
    }
    if (*from == '"') from++;
    if (*from == '\n') csv->next_line++;
    *to++ = *from;
  }
  return false;
}

/* Cuts one field at *at and says what follows it: ',' another field, '\n' the next record, 0 the
 * end, -1 nonsense. */
static int cut_field(struct lb_csv *csv, char **at, char **ret_field) {
  char *end = *at;
  if (*end == '"') {
    *ret_field = ++end;
    if (!cut_quoted(csv, &end)) return -1;
  } else {
    *ret_field = end;
    end += strcspn(end, ",\"\r\n");
  }
  char stop = *end;
  *end = '\0';
  *at = end + 1;
  if (stop == '\r' && **at == '\n') {
    ++*at;
    stop = '\n';
  }
  if (stop == '\0') *at = end;
  return stop == ',' || stop == '\n' || stop == '\0' ? stop : -1;
}

static int refuse(const struct lb_csv *csv, struct lb_error *err, const char *what) {
  return lb_refuse(err, "%s:%d: %s", csv->path, csv->line, what);
}

/* Reads the record at csv->next into fields[0..max); its number of fields (more than max is
 * counted, not stored), or -EINVAL. */
static long read_record(struct lb_csv *csv, char **fields, size_t max, struct lb_error *err) {
  long count = 0;
  int stop;
  csv->line = csv->next_line;
  do {
    char *field;
    stop = cut_field(csv, &csv->next, &field);
    if (stop < 0) return refuse(csv, err, "a stray or unclosed quote, or a bare carriage return");
    if ((size_t)count < max) fields[count] = field;
    count++;
  } while (stop == ',');
  csv->next_line++;
  return count;
}

static size_t count_commas(const char *line) {
  size_t count = 0;
  for (; *line && *line != '\n'; line++) count += *line == ',';
  return count;
}

static int read_header(struct lb_csv *csv, struct lb_error *err) {
  size_t most = count_commas(csv->data) + 1;
  csv->header = lb_need(calloc(most, sizeof *csv->header));
  csv->field = lb_need(calloc(most, sizeof *csv->field));
  if (!*csv->data) {
    csv->line = 1;
    return refuse(csv, err, "empty, expected a header line");
  }
  long count = read_record(csv, csv->header, most, err);
  if (count < 0) return (int)count;
  csv->columns = (size_t)count;
  return 0;
}

int lb_csv_open(const char *path, struct lb_csv *ret, struct lb_error *err) {
  *ret = (struct lb_csv){.path = path, .next_line = 1};
  int result = read_text(path, &ret->data);
  if (result < 0)
    return lb_error(err, result, "%s: %s", path,
                    result == -EINVAL ? "no text: it holds a zero byte" : strerror(-result));
  ret->next = ret->data;
  result = read_header(ret, err);
  if (result < 0) lb_csv_close(ret);
  return result;
}

/* A blank line is a record of one empty field. Unless the file has one column, it is refused like any record of the
 * wrong width. */
int lb_csv_next(struct lb_csv *csv, struct lb_error *err) {
  if (!*csv->next) return 0;
  long count = read_record(csv, csv->field, csv->columns, err);
  if (count < 0) return (int)count;
  if ((size_t)count == csv->columns) return 1;
  return lb_refuse(err, "%s:%d: %ld fields, expected %zu, as in the header line", csv->path, csv->line, count,
                   csv->columns);
}

int lb_csv_column(const struct lb_csv *csv, const char *name, struct lb_error *err) {
  for (size_t i = 0; i < csv->columns; i++)
    if (strcmp(csv->header[i], name) == 0) return (int)i;
  return lb_refuse(err, "%s:1: no column '%s'", csv->path, name);
}

void lb_csv_close(struct lb_csv *csv) {
  free(csv->data);
  free(csv->header);
  free(csv->field);
  *csv = (struct lb_csv){.path = csv->path};
}
