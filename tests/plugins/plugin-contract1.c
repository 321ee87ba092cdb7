/* SPDX-License-Identifier: MIT
 *
 * What is left of contract 1: a table as a plugin had it that was compiled against the header of then, declared here,
 * because that header is gone. The tool has to refuse it before it looks at more than the first two fields.
 */
#include <stdint.h>
#include <stddef.h>

struct old_session;
struct old_config;
struct old_grant;

struct old_protocol {
  uint32_t abi, size;
  const char *name, *summary, *promises, *breaks, *source;
  const char *const *topologies;
  unsigned traits;
  const char *unsafe_why;
  const void *options;
  const char *const *points;
  size_t session_size;
  int (*open)(struct old_session *session, const struct old_config *config, uint64_t deadline);
  void (*close)(struct old_session *session);
  int (*try_acquire)(struct old_session *session, const char *key, int64_t ttl_ms, struct old_grant *grant,
                     uint64_t deadline);
  int (*release)(struct old_session *session, const char *key, struct old_grant *grant, uint64_t deadline);
  int (*setup)(struct old_session *session, uint64_t deadline);
  int (*extend)(struct old_session *session, const char *key, int64_t ttl_ms, struct old_grant *grant,
                uint64_t deadline);
  int (*wait)(struct old_session *session, const char *key, struct old_grant *grant, uint64_t deadline);
  int (*resolve)(struct old_session *session, const char *key, struct old_grant *grant, uint64_t deadline);
  int (*holds)(struct old_session *session, const char *key, const struct old_grant *grant, uint64_t deadline);
  int (*inspect)(struct old_session *session, size_t endpoint, const char *key, uint64_t deadline);
};

static int old_open(struct old_session *session, const struct old_config *config, uint64_t deadline) {
  (void)session, (void)config, (void)deadline;
  return 0;
}

static void old_close(struct old_session *session) { (void)session; }

static int old_try(struct old_session *session, const char *key, int64_t ttl_ms, struct old_grant *grant,
                   uint64_t deadline) {
  (void)session, (void)key, (void)ttl_ms, (void)grant, (void)deadline;
  return 1; /* busy */
}

static int old_release(struct old_session *session, const char *key, struct old_grant *grant, uint64_t deadline) {
  (void)session, (void)key, (void)grant, (void)deadline;
  return 3; /* lost */
}

static const char *const topologies[] = {"none", NULL};

static const struct old_protocol old = {
    .abi = 1,
    .size = sizeof(struct old_protocol),
    .name = "old",
    .summary = "was compiled for contract 1",
    .promises = "Nothing.",
    .breaks = "Everything.",
    .source = "lockbench",
    .topologies = topologies,
    .traits = 1 << 2, /* no expiry */
    .session_size = 1,
    .open = old_open,
    .close = old_close,
    .try_acquire = old_try,
    .release = old_release,
};

extern const struct old_protocol *const lockbench_plugin;
const struct old_protocol *const lockbench_plugin = &old;
