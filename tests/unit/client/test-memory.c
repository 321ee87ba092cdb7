/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The memory is as large as a trial asks for: no resource lies on another one, on an event, or on what protocols share.
 */
#include "test.h"
#include "backends/registry.h"
#include "client/memory.h"
#include "client/env.h"

enum { KEYS = 5000 };

TEST(every_key_has_a_resource_of_its_own) {
  struct lb_memory *memory = lb_memory_map(2, 2, KEYS);
  assert_non_null(memory);
  lb_memory_record(memory, 1, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = 1, .key = 7});
  struct lb_event before = memory->events[memory->log[1].first];
  memset(memory->shared, 0xff, memory->shared_size);
  for (uint64_t i = 0; i < KEYS; i++) {
    assert_int_equal(atomic_load(&memory->resource[i].value), 0);
    lb_resource_write(&memory->resource[i], false, 0, i + 1);
  }
  for (uint64_t i = 0; i < KEYS; i++) assert_int_equal(atomic_load(&memory->resource[i].value), i + 1);
  assert_memory_equal(&before, &memory->events[memory->log[1].first], sizeof before);
  for (size_t i = 0; i < memory->shared_size; i++) assert_int_equal(memory->shared[i], 0xff);
  assert_int_equal(memory->log[1].count, 1);
  lb_memory_unmap(memory);
}

TEST(resources_can_be_swapped_as_one_word) {
  for (size_t keys = 0; keys < 4; keys++) {
    struct lb_memory *memory = lb_memory_map(1, 1, keys);
    assert_int_equal((uintptr_t)memory->resource % 16, 0);
    uint64_t value;
    assert_true(lb_resource_read(&memory->resource[keys > 0 ? keys - 1 : 0], true, 3, &value));
    lb_memory_unmap(memory);
  }
}

/* A worker writes for many clients; each event says whose it is, and each client has a state of its own. */
TEST(logs_belong_to_writers_and_states_to_clients) {
  enum { CLIENTS = 3000, WRITERS = 2 };
  struct lb_memory *memory = lb_memory_map(CLIENTS, WRITERS, 1);
  assert_non_null(memory);
  assert_int_equal(memory->log_count, WRITERS + 1);
  assert_int_equal(memory->controller, WRITERS);
  for (uint32_t i = 0; i < CLIENTS; i++) {
    lb_memory_record(memory, i % WRITERS, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = i});
    assert_int_equal(atomic_fetch_add(&memory->state[i].writes, i + 1), 0);
  }
  lb_memory_record(memory, memory->controller, (struct lb_event){.kind = LB_EV_NOTE, .client = LB_NO_NAME});
  assert_int_equal(atomic_load(&memory->state[CLIENTS].writes), 0);
  for (size_t w = 0; w < WRITERS; w++) {
    assert_int_equal(atomic_load(&memory->log[w].count), CLIENTS / WRITERS);
    for (uint32_t i = 0; i < CLIENTS / WRITERS; i++)
      assert_int_equal(memory->events[memory->log[w].first + i].client, i * WRITERS + w);
  }
  for (uint32_t i = 0; i < CLIENTS; i++) assert_int_equal(atomic_load(&memory->state[i].writes), i + 1);
  assert_int_equal(memory->events[memory->log[WRITERS].first].kind, LB_EV_NOTE);
  const struct lb_log *last = &memory->log[memory->controller];
  assert_true(last->first + last->capacity <= LB_EVENTS_MAX_SPILLED);
  lb_memory_unmap(memory);
}

/* Whoever writes does not see where its log goes on; a log that spills is full later, and warm later. */
TEST(what_memory_has_no_room_for_goes_to_a_file) {
  struct lb_memory *memory = lb_memory_map(3, 3, 1);
  struct lb_history h = {0};
  uint32_t in_memory = memory->log[0].capacity, enough = memory->log[0].enough, warm = memory->log[0].warm;
  assert_int_equal(lb_memory_spill(memory, "/var/tmp"), 0);
  struct lb_log *log = &memory->log[1], *other = &memory->log[2];
  assert_true(log->enough > in_memory && log->capacity - log->enough == in_memory - enough && log->warm > warm);
  assert_true(log->first + log->capacity <= other->first);
  memory->events[other->first] = (struct lb_event){.t = 7};
  atomic_store(&log->count, log->capacity - 2); /* as if it had written so much */
  lb_memory_record(memory, 1, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = 4});
  lb_memory_record(memory, 1, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = 5});
  lb_memory_record(memory, 1, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = 6}); /* is dropped */
  assert_int_equal(memory->events[log->first + log->capacity - 1].client, 5);
  assert_int_equal(memory->events[other->first].t, 7);
  assert_true(atomic_load(&memory->log_full));
  atomic_store(&log->count, in_memory - 1);
  lb_memory_record(memory, 1, (struct lb_event){.kind = LB_EV_ACQUIRE, .client = 1});
  lb_memory_record(memory, 1, (struct lb_event){.kind = LB_EV_GRANTED, .client = 2});
  atomic_store(&other->count, 1);
  assert_int_equal(lb_memory_collect(memory, &h), 0);
  assert_int_equal(h.count, in_memory + 2);
  assert_int_equal(h.events[in_memory - 1].t, 7); /* after what nobody has written */
  assert_int_equal(h.events[in_memory].client, 1);
  assert_int_equal(h.events[in_memory + 1].client, 2);
  lb_history_clear(&h);
  lb_memory_unmap(memory);
}

/* Many writers: then no disk is too small for the share of each. */
TEST(what_is_spilled_stays_within_its_share) {
  enum { WRITERS = 500 };
  struct lb_memory *memory = lb_memory_map(WRITERS, WRITERS, 1);
  assert_non_null(memory);
  assert_int_equal(lb_memory_spill(memory, "/var/tmp"), 0);
  for (size_t i = 0; i < WRITERS; i++)
    assert_true(memory->log[i].first + memory->log[i].capacity <= memory->log[i + 1].first);
  lb_memory_unmap(memory);
}

TEST(a_log_is_warm_after_an_eighth_and_full_an_eighth_before_its_end) {
  struct lb_memory *memory = lb_memory_map(1, 1, 1);
  struct lb_log *log = &memory->log[0];
  assert_int_equal(log->enough, log->capacity - log->capacity / 8);
  lb_memory_record(memory, 0, (struct lb_event){.kind = LB_EV_ACQUIRE});
  assert_int_equal(memory->events[log->first].s, 1);
  assert_false(atomic_load(&memory->log_warm) || atomic_load(&memory->log_full));
  atomic_store(&log->count, log->warm);
  lb_memory_record(memory, 0, (struct lb_event){.kind = LB_EV_ACQUIRE});
  assert_true(atomic_load(&memory->log_warm));
  assert_int_equal(memory->events[log->first + log->warm].s, 2);
  assert_false(atomic_load(&memory->log_full));
  lb_memory_unmap(memory);
}

TEST(a_small_trial_asks_for_little) {
  struct lb_memory *memory = lb_memory_map(1, 1, 1);
  size_t parts = sizeof *memory + 2 * sizeof *memory->log + 2 * sizeof *memory->state + sizeof *memory->resource +
                 memory->shared_size;
  assert_true(memory->mapped_size >= parts && memory->mapped_size <= parts + (size_t)5 * 64);
  lb_memory_unmap(memory);
}

TEST(without_a_folder_a_log_stays_as_it_is) {
  struct lb_memory *memory = lb_memory_map(1, 1, 1);
  struct lb_log before = memory->log[0];
  assert_int_equal(lb_memory_spill(memory, "/nowhere"), -ENOENT);
  assert_memory_equal(&before, &memory->log[0], sizeof before);
  lb_memory_unmap(memory);
}

/* A lock in shared memory has room for each of them. */
TEST(a_lock_without_a_server_has_room_for_every_key) {
  const struct lb_protocol *local = lb_protocol_find("local");
  struct lb_memory *memory = lb_memory_map(1, 1, KEYS);
  struct lb_process_env env;
  lb_env_init(&env, 1);
  struct lb_target target = {.topology = "none", .shared = memory->shared, .shared_size = memory->shared_size};
  struct lb_config config = {.env = &env.base, .target = &target, .ttl_ms = 1000, .client = "one"};
  max_align_t session[16];
  assert_true(local->session_size <= sizeof session);
  assert_int_equal(local->open((struct lb_session *)session, &config, LB_NEVER), 0);
  for (int i = 0; i < KEYS; i++) {
    struct lb_grant grant = LB_GRANT_INIT;
    char key[32];
    snprintf(key, sizeof key, "key-%d", i);
    assert_int_equal(local->try_acquire((struct lb_session *)session, &(struct lb_lock){key, 1000}, &grant, LB_NEVER),
                     LB_OK);
    assert_int_equal(grant.fence, 1); /* nobody else's */
  }
  local->close((struct lb_session *)session);
  lb_memory_unmap(memory);
}
