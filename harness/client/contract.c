/* SPDX-License-Identifier: MIT
 *
 * The contract as a table of results and a few comparisons.
 */
#include "contract.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { ERRNO_MAX = 4095 }; /* as the kernel has it */

#define R(result) (1u << (result))
static const struct {
  const char *name;
  unsigned results; /* not negative: what the comment of the hook in backend.h allows */
} hooks[LB_HOOK_COUNT] = {
    [LB_HOOK_NONE] = {"no hook", R(LB_OK)},
    [LB_HOOK_OPEN] = {"open", R(LB_OK)},
    [LB_HOOK_SETUP] = {"setup", R(LB_OK) | R(LB_TIMEOUT) | R(LB_UNKNOWN)},
    [LB_HOOK_TRY_ACQUIRE] = {"try_acquire", R(LB_OK) | R(LB_BUSY) | R(LB_TIMEOUT) | R(LB_UNKNOWN)},
    [LB_HOOK_RELEASE] = {"release", R(LB_OK) | R(LB_LOST) | R(LB_UNKNOWN)},
    [LB_HOOK_EXTEND] = {"extend", R(LB_OK) | R(LB_LOST) | R(LB_UNKNOWN)},
    [LB_HOOK_WAIT] = {"wait", R(LB_OK) | R(LB_TIMEOUT)},
    [LB_HOOK_RESOLVE] = {"resolve", R(LB_OK) | R(LB_BUSY) | R(LB_UNKNOWN)},
    [LB_HOOK_HOLDS] = {"holds", R(LB_OK) | R(LB_LOST) | R(LB_UNKNOWN) | R(LB_UNCONFIRMED)},
    [LB_HOOK_INSPECT] = {"inspect", R(0) | R(1)},
    [LB_HOOK_TEARDOWN] = {"teardown", R(LB_OK) | R(LB_TIMEOUT) | R(LB_UNKNOWN)},
    [LB_HOOK_DOUBT] = {"doubt", R(LB_OK) | R(LB_LOST) | R(LB_UNKNOWN)},
    [LB_HOOK_CLOSE] = {"close", R(LB_OK)},
    [LB_HOOK_SERVER] = {"server", 0},         /* an index: lb_contract_server() */
    [LB_HOOK_VOTERS] = {"voters", 0},         /* bits: lb_contract_voters() */
    [LB_HOOK_SEEN] = {"seen", 0},             /* a number: lb_contract_seen() */
    [LB_HOOK_SESSION_ID] = {"session_id", 0}, /* any number */
    [LB_HOOK_BREAK_LOCK] = {"break_lock", R(0) | R(1)},
    [LB_HOOK_STOP] = {"stop", R(LB_OK)},
    [LB_HOOK_WORK] = {"work", R(LB_OK) | R(LB_TIMEOUT) | R(LB_UNKNOWN)},
};

static bool is_hook(enum lb_hook hook) { return (int)hook >= 0 && hook < LB_HOOK_COUNT; }

const char *lb_hook_name(enum lb_hook hook) { return hooks[is_hook(hook) ? hook : LB_HOOK_NONE].name; }

int lb_contract_result(enum lb_hook hook, int result, struct lb_error *complaint) {
  static const char *const words[] = {"OK", "BUSY", "TIMEOUT", "LOST", "UNKNOWN", "UNCONFIRMED"};
  enum { WORD_COUNT = sizeof words / sizeof *words };
  bool negative_fits = hook != LB_HOOK_NONE && hook != LB_HOOK_CLOSE && result >= -ERRNO_MAX;
  if (!is_hook(hook)) return lb_refuse(complaint, "%d is no hook", (int)hook);
  if (result < 0 ? negative_fits : result < WORD_COUNT && hooks[hook].results & R(result)) return 0;
  if (result < 0) return lb_refuse(complaint, "%s answered %d, which is no -errno", lb_hook_name(hook), result);
  bool named = result < WORD_COUNT && hook != LB_HOOK_INSPECT && hook != LB_HOOK_BREAK_LOCK;
  return lb_refuse(complaint, "%s answered %d%s%s%s, which is no result of it", lb_hook_name(hook), result,
                   named ? " (" : "", named ? words[result] : "", named ? ")" : "");
}

int lb_contract_server(int result, size_t endpoint_count, struct lb_error *complaint) {
  if (result == -ENOENT || (result >= 0 && (size_t)result < endpoint_count)) return 0;
  return lb_refuse(complaint, "server answered %d, which is neither -ENOENT nor one of %zu endpoints", result,
                   endpoint_count);
}

int lb_contract_voters(uint64_t voters, size_t endpoint_count, struct lb_error *complaint) {
  if (voters == 0) return lb_refuse(complaint, "voters named nobody");
  if (endpoint_count >= 64 || voters >> endpoint_count == 0) return 0;
  return lb_refuse(complaint, "voters named more than the %zu endpoints", endpoint_count);
}

int lb_contract_seen(uint64_t seen, struct lb_error *complaint) {
  return seen <= INT64_MAX ? 0 : lb_refuse(complaint, "seen answered a number of more than 63 bits");
}

/* ---- a grant ---------------------------------------------------------------------------------------------------- */

static uint64_t whole_ms(lb_ns ns) { return (ns + LB_NS_PER_MS - 1) / LB_NS_PER_MS; }

/* A lease so short that the drift eats it up leaves nothing, and a grant that ends as it begins. */
static int check_begin(const struct lb_grant *grant, int64_t ttl_ms, struct lb_error *complaint) {
  bool nothing_left = lb_lease_end(grant->asked_at, ttl_ms) == grant->asked_at;
  if (grant->valid_until > grant->asked_at || (nothing_left && grant->valid_until == grant->asked_at)) return 0;
  if (grant->valid_until == 0) return lb_refuse(complaint, "granted with valid_until = 0");
  return lb_refuse(complaint, "granted what was over before it began (valid_until is %" PRIu64 " ms before asked_at)",
                   whole_ms(grant->asked_at - grant->valid_until));
}

static int check_lease(const struct lb_grant *grant, lb_ns before, lb_ns now, int64_t ttl_ms,
                       struct lb_error *complaint) {
  lb_ns begin = grant->asked_at < before ? now : grant->asked_at, end = begin + (lb_ns)ttl_ms * LB_NS_PER_MS;
  if (grant->valid_until <= end) return 0;
  if (grant->valid_until == LB_NEVER)
    return lb_refuse(complaint, "claims the lock for ever, though its grants end with the lease");
  return lb_refuse(complaint, "claims the lock for %" PRIu64 " ms longer than the lease",
                   whole_ms(grant->valid_until - end));
}

int lb_contract_grant(bool bounded, const struct lb_grant *grant, lb_ns before, lb_ns now, int64_t ttl_ms,
                      struct lb_error *complaint) {
  if (grant->token_len > LB_TOKEN_MAX)
    return lb_refuse(complaint, "granted with token_len = %zu, at most %d", grant->token_len, LB_TOKEN_MAX);
  if (grant->asked_at == 0) return lb_refuse(complaint, "granted with asked_at = 0");
  if (grant->asked_at == LB_NEVER) return lb_refuse(complaint, "granted with asked_at = LB_NEVER");
  if (grant->asked_at > now)
    return lb_refuse(complaint, "granted with an asked_at %" PRIu64 " ms in the future",
                     whole_ms(grant->asked_at - now));
  if (check_begin(grant, ttl_ms, complaint) < 0) return -EINVAL;
  return bounded ? check_lease(grant, before, now, ttl_ms, complaint) : 0;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Bytes of the printable character at text, 0 = it is none: a control character (C0, DEL, C1) or no UTF-8. */
static size_t printable_length(const char *text, size_t left) {
  const unsigned char *b = (const unsigned char *)text;
  size_t n = lb_text_utf8_length(text, left);
  bool control = n == 1 ? b[0] < 0x20 || b[0] == 0x7f : n == 2 && b[0] == 0xc2 && b[1] < 0xa0;
  return control ? 0 : n;
}

int lb_contract_text(const char *err, size_t err_size, struct lb_error *complaint) {
  size_t length = strnlen(err, err_size);
  if (length == 0) return lb_refuse(complaint, "left no text in env->err");
  if (length == err_size) return lb_refuse(complaint, "left a text in env->err that does not end");
  for (size_t i = 0, n; i < length; i += n)
    if ((n = printable_length(err + i, length - i)) == 0)
      return lb_refuse(complaint, "left a text in env->err whose byte %zu (0x%02x) cannot be printed", i + 1,
                       (unsigned char)err[i]);
  return 0;
}

/* Texts of client libraries often end with a newline. */
static void fold_lines(char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i++)
    if (strchr("\n\r\t", text[i])) text[i] = ' ';
  while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
}

void lb_contract_clean_text(char *text, size_t size) {
  text[size - 1] = '\0';
  fold_lines(text);
  for (size_t i = 0, left = strlen(text), n; left > 0; i += n, left -= n) {
    n = lb_text_utf8_length(text + i, left);
    bool fine = n > 0 && printable_length(text + i, left) > 0;
    if (n == 0) n = 1;
    if (!fine) memset(text + i, '?', n);
  }
}
