/* SPDX-License-Identifier: MIT
 *
 * The arena is as large as a trial asks for: no resource lies on another one, on an event, or on what protocols share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../backends/registry.h"
#include "../harness/arena.h"
#include "../harness/env.h"

enum { KEYS = 5000 };

static void every_key_has_a_resource_of_its_own(void **state) {
  (void)state;
  struct lb_arena *arena = lb_arena_map(2, KEYS);
  assert_non_null(arena);
  lb_arena_record(arena, 1, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = 1, .key = 7});
  struct lb_event before = arena->events[arena->log[1].first];
  memset(arena->shared, 0xff, arena->shared_size);
  for (uint64_t i = 0; i < KEYS; i++) {
    assert_int_equal(atomic_load(&arena->resource[i].value), 0);
    lb_resource_write(&arena->resource[i], false, 0, i + 1);
  }
  for (uint64_t i = 0; i < KEYS; i++) assert_int_equal(atomic_load(&arena->resource[i].value), i + 1);
  assert_memory_equal(&before, &arena->events[arena->log[1].first], sizeof before);
  for (size_t i = 0; i < arena->shared_size; i++) assert_int_equal(arena->shared[i], 0xff);
  assert_int_equal(arena->log[1].count, 1);
  lb_arena_unmap(arena);
}

static void resources_can_be_swapped_as_one_word(void **state) {
  (void)state;
  for (size_t keys = 0; keys < 4; keys++) {
    struct lb_arena *arena = lb_arena_map(1, keys);
    assert_int_equal((uintptr_t)arena->resource % 16, 0);
    assert_true(arena->key_count >= 1);
    uint64_t value;
    assert_true(lb_resource_read(&arena->resource[arena->key_count - 1], true, 3, &value));
    lb_arena_unmap(arena);
  }
}

/* A lock in shared memory has room for each of them. */
static void a_lock_without_a_server_has_room_for_every_key(void **state) {
  (void)state;
  const struct lb_protocol *local = lb_protocol_find("local");
  struct lb_arena *arena = lb_arena_map(1, KEYS);
  struct lb_process_env env;
  lb_env_init(&env, 1);
  struct lb_target target = {.topology = "none", .shared = arena->shared, .shared_size = arena->shared_size};
  struct lb_config config = {.env = &env.base, .target = &target, .ttl_ms = 1000, .client = "one"};
  max_align_t session[16];
  assert_true(local->session_size <= sizeof session);
  assert_int_equal(local->open((struct lb_session *)session, &config, LB_NEVER), 0);
  for (int i = 0; i < KEYS; i++) {
    struct lb_grant grant = LB_GRANT_INIT;
    char key[32];
    snprintf(key, sizeof key, "key-%d", i);
    assert_int_equal(local->try_acquire((struct lb_session *)session, key, 1000, &grant, LB_NEVER), LB_OK);
    assert_int_equal(grant.fence, 1); /* nobody else's */
  }
  local->close((struct lb_session *)session);
  lb_arena_unmap(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_key_has_a_resource_of_its_own),
      cmocka_unit_test(resources_can_be_swapped_as_one_word),
      cmocka_unit_test(a_lock_without_a_server_has_room_for_every_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
