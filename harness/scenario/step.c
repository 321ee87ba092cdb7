/* SPDX-License-Identifier: MIT
 *
 * The table of steps: one row per verb. All that the harness knows of a verb stands in its row. What a verb does when a
 * trial is played stands in trial/: faults in fault_*.c, the others in timeline_client.c and timeline_await.c.
 */
#include "step.h"

#include <stdio.h>
#include <string.h>

const struct lb_step_row lb_step_rows[LB_VERB_COUNT] = {
    [LB_STEP_CUT] = {.form = "cut A [from] B",
                     .help = "drops all packets between two roles, both ways",
                     .class = LB_STEP_FAULT,
                     .named = "cut|split|silent",
                     .trace = LB_TRACE_ASKED,
                     .needs = LB_NEED_NETWORK,
                     .drawn = true,
                     .among_clients = true,
                     .undone_by = {LB_STEP_HEAL_ONE, LB_STEP_HEAL}},
    [LB_STEP_CUT_TO] = {.form = "cut A to B",
                        .help = "drops the packets that A sends to B; the other way they pass",
                        .class = LB_STEP_FAULT,
                        .named = "cut|lost|silent",
                        .trace = LB_TRACE_ASKED,
                        .needs = LB_NEED_NETWORK,
                        .drawn = true,
                        .among_clients = true,
                        .undone_by = {LB_STEP_HEAL_ONE, LB_STEP_HEAL}},
    [LB_STEP_SLOW] =
        {.form = "slow A to B T [jitter J] [loss P]",
         .help = "delays the packets that A sends to B by T, each by up to J more or less, and loses P of them",
         .class = LB_STEP_FAULT,
         .named = "slow|late",
         .trace = LB_TRACE_ASKED,
         .needs = LB_NEED_NETWORK,
         .undone_by = {LB_STEP_HEAL_ONE, LB_STEP_HEAL}},
    [LB_STEP_HOLD] = {.form = "hold A to B",
                      .help = "keeps the packets that A sends to B until they are released",
                      .class = LB_STEP_FAULT,
                      .named = "late",
                      .trace = LB_TRACE_ASKED,
                      .needs = LB_NEED_NETWORK,
                      .undone_by = {LB_STEP_RELEASE_HELD, LB_STEP_HEAL}},
    [LB_STEP_DROP_NEXT] =
        {.form = "drop next A to B [after K]",
         .help =
             "drops the next message from A to B, or the one after K others of its connection, and what follows it there",
         .class = LB_STEP_FAULT,
         .named = "lost",
         .trace = LB_TRACE_ASKED,
         .needs = LB_NEED_NETWORK,
         .armed = true,
         .undone_by = {LB_STEP_HEAL_ONE, LB_STEP_HEAL}},
    [LB_STEP_HOLD_NEXT] = {.form = "hold next A to B [after K]",
                           .help = "keeps that message, and what follows it on its connection, until they are released",
                           .class = LB_STEP_FAULT,
                           .named = "late",
                           .trace = LB_TRACE_ASKED,
                           .needs = LB_NEED_NETWORK,
                           .armed = true,
                           .undone_by = {LB_STEP_RELEASE_HELD, LB_STEP_HEAL}},
    [LB_STEP_RELEASE_HELD] =
        {.form = "release A to B",
         .help = "undoes a hold written with these two roles, in this order: what was kept arrives at once",
         .class = LB_STEP_CURE,
         .needs = LB_NEED_NETWORK},
    [LB_STEP_RESET] = {.form = "reset A [from] B",
                       .help = "ends the connections between two roles with a reset at both ends. The link stays",
                       .class = LB_STEP_FAULT,
                       .named = "reset",
                       .trace = LB_TRACE_ASKED,
                       .needs = LB_NEED_NETWORK},
    [LB_STEP_HEAL_ONE] =
        {.form = "heal A [from] B",
         .help =
             "undoes one cut, slow or drop: the latest that still holds of those written with these two roles, in this order",
         .class = LB_STEP_CURE,
         .needs = LB_NEED_NETWORK,
         .among_clients = true},
    [LB_STEP_HEAL] = {.form = "heal",
                      .help = "undoes every cut, slow, drop and hold",
                      .class = LB_STEP_CURE,
                      .needs = LB_NEED_NETWORK},
    [LB_STEP_KILL] = {.form = "kill A",
                      .help = "kills the processes of a role (SIGKILL)",
                      .class = LB_STEP_FAULT,
                      .named = "die|dead",
                      .trace = LB_TRACE_ASKED,
                      .drawn = true,
                      .kills = true,
                      .undone_by = {LB_STEP_RESTART, LB_STEP_UPGRADE}},
    [LB_STEP_POWER_OFF] =
        {.form = "power off A",
         .help = "kills servers and removes from their files what they had not synced. How much that was is a fact",
         .class = LB_STEP_FAULT,
         .named = "power",
         .needs = LB_NEED_SERVERS | LB_NEED_SYNCS,
         .undone_by = {LB_STEP_RESTART, LB_STEP_UPGRADE}},
    [LB_STEP_SHUT_CLIENT] = {.form = "shut down client N",
                             .help = "tells the library of a client to stop, while the client works on",
                             .class = LB_STEP_FAULT,
                             .named = "stop",
                             .needs = LB_NEED_ASKED},
    [LB_STEP_SHUT_DOWN] =
        {.form = "shut down A",
         .help = "ends servers as their operator would, and waits for them. The proof: exit status and last log line",
         .class = LB_STEP_FAULT,
         .named = "shut down",
         .needs = LB_NEED_SERVERS,
         .undone_by = {LB_STEP_RESTART, LB_STEP_UPGRADE}},
    [LB_STEP_DEPOSE] = {.form = "depose A",
                        .help = "lets a server step down for another one by its operator's order, while all run",
                        .class = LB_STEP_FAULT,
                        .named = "by order",
                        .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_ORDERLY},
    [LB_STEP_REMOVE] = {.form = "remove A",
                        .help = "removes one server from its cluster by an operator's order, and ends it",
                        .class = LB_STEP_FAULT,
                        .named = "removed",
                        .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_MEMBERSHIP},
    [LB_STEP_CANCEL] = {.form = "cancel wait of B on A",
                        .help = "lets server A cancel the statement with which client B waits there for a standby",
                        .class = LB_STEP_FAULT,
                        .named = "cancel",
                        .trace = LB_TRACE_ASKED,
                        .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_CANCEL},
    [LB_STEP_DELETE_KEY] = {.form = "delete key on A",
                            .help = "deletes the record of the lock from server A, as an operator does who breaks it",
                            .class = LB_STEP_FAULT,
                            .named = "delete",
                            .trace = LB_TRACE_ASKED,
                            .needs = LB_NEED_ONE_SERVER | LB_NEED_RECORD},
    [LB_STEP_END_SESSION] = {.form = "end session of B on A",
                             .help = "lets server A end the connections or the lease of client B, as an operator does",
                             .class = LB_STEP_FAULT,
                             .named = "ends the session",
                             .trace = LB_TRACE_ASKED,
                             .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_NETWORK | LB_NEED_ENDING},
    [LB_STEP_END_RENEWALS] = {.form = "end renewals of client N",
                              .help = "ends the loop that renews what a client holds. The client works on",
                              .class = LB_STEP_FAULT,
                              .named = "renew",
                              .needs = LB_NEED_ASKED | LB_NEED_RENEWALS},
    [LB_STEP_BACK_UP] = {.form = "back up A",
                         .help = "copies what servers keep, while they stand still",
                         .class = LB_STEP_FAULT,
                         .named = "backup",
                         .needs = LB_NEED_SERVERS | LB_NEED_FILES},
    [LB_STEP_RESTORE] = {.form = "restore A",
                         .help = "kills servers, starts them on what was backed up and waits until they answer",
                         .class = LB_STEP_FAULT,
                         .named = "restored",
                         .needs = LB_NEED_SERVERS | LB_NEED_FILES | LB_NEED_BACKUP},
    [LB_STEP_WIPE] = {.form = "wipe A",
                      .help =
                          "kills servers that still run, and removes all that they keep. `restart` starts them empty",
                      .class = LB_STEP_FAULT,
                      .named = "empty",
                      .needs = LB_NEED_SERVERS | LB_NEED_FILES | LB_NEED_EMPTY,
                      .undone_by = {LB_STEP_RESTART, LB_STEP_UPGRADE}},
    [LB_STEP_MOVE_SLOT] = {.form = "move slot of key to A",
                           .help = "moves the slot of the key to A, another master of a Redis Cluster",
                           .class = LB_STEP_FAULT,
                           .named = "move",
                           .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_SLOTS},
    [LB_STEP_STRAND_KEY] = {.form = "move slot of key to A without its keys",
                            .help = "gives the slot to A, and not its keys, which the master that had them deletes",
                            .class = LB_STEP_FAULT,
                            .named = "move",
                            .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_SLOTS},
    [LB_STEP_FILL_MEMORY] =
        {.form = "fill memory of A policy POLICY",
         .help =
             "limits the memory of Redis or memcached and writes until they evict keys as POLICY says, or refuse. memcached is started with allkeys-lru",
         .class = LB_STEP_FAULT,
         .named = "full",
         .needs = LB_NEED_SERVERS | LB_NEED_MEMORY,
         .undone_by = {LB_STEP_FREE_MEMORY}},
    [LB_STEP_FREE_MEMORY] = {.form = "free memory of A",
                             .help = "undoes that: deletes what was written, and lifts the limit",
                             .class = LB_STEP_CURE,
                             .needs = LB_NEED_SERVERS | LB_NEED_MEMORY},
    [LB_STEP_FILL_DISK] = {.form = "fill disk of A",
                           .help = "takes all room on the disks of servers, and makes the servers need some",
                           .class = LB_STEP_FAULT,
                           .named = "full",
                           .needs = LB_NEED_SERVERS | LB_NEED_ROOM,
                           .undone_by = {LB_STEP_FREE_DISK}},
    [LB_STEP_FREE_DISK] = {.form = "free disk of A",
                           .help = "gives the room back. `restart` starts the servers that have ended",
                           .class = LB_STEP_CURE,
                           .needs = LB_NEED_SERVERS | LB_NEED_ROOM},
    [LB_STEP_STALL_DISK] = {.form = "stall disk of A",
                            .help = "lets no fsync or fdatasync of servers end, as a disk that does not answer",
                            .class = LB_STEP_FAULT,
                            .named = "stalled",
                            .needs = LB_NEED_SERVERS | LB_NEED_STALL,
                            .armed = true,
                            .undone_by = {LB_STEP_UNSTALL_DISK}},
    [LB_STEP_UNSTALL_DISK] = {.form = "unstall disk of A",
                              .help = "lets them end",
                              .class = LB_STEP_CURE,
                              .needs = LB_NEED_SERVERS | LB_NEED_STALL},
    [LB_STEP_OCCUPY] = {.form = "occupy A",
                        .help = "lets idle transactions take the server processes that a pooler would lend next",
                        .class = LB_STEP_FAULT,
                        .named = "busy",
                        .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_POOLER,
                        .undone_by = {LB_STEP_VACATE}},
    [LB_STEP_VACATE] = {.form = "vacate A",
                        .help = "ends those transactions",
                        .class = LB_STEP_CURE,
                        .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_POOLER},
    [LB_STEP_LOCK_TABLES] =
        {.form = "lock tables on A",
         .help = "locks the tables of the locks for an upgrade, as ALTER TABLE does: all other statements wait",
         .class = LB_STEP_FAULT,
         .named = "locks the tables",
         .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_TABLES,
         .undone_by = {LB_STEP_UNLOCK_TABLES}},
    [LB_STEP_UNLOCK_TABLES] = {.form = "unlock tables on A",
                               .help = "ends that upgrade",
                               .class = LB_STEP_CURE,
                               .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_TABLES},
    [LB_STEP_OPERATOR] =
        {.form = "operator ORDER",
         .help =
             "prints ORDER, a text in \"...\", and waits until a person has done it and presses Enter, or until the command of `--hook` exits 0. Another exit or 10 min = undecided. What it did is for the steps behind it to show",
         .class = LB_STEP_FAULT,
         .named = "by hand"},
    [LB_STEP_PAUSE] = {.form = "pause A",
                       .help = "stops the processes of a role (SIGSTOP)",
                       .class = LB_STEP_FAULT,
                       .named = "pause|suspend",
                       .trace = LB_TRACE_ASKED,
                       .drawn = true,
                       .undone_by = {LB_STEP_RESUME}},
    [LB_STEP_RESUME] = {.form = "resume A",
                        .help = "lets paused processes and hanging programs go on",
                        .class = LB_STEP_CURE},
    [LB_STEP_RESTART] =
        {.form = "restart A",
         .help = "kills servers that still run, starts them on what they left behind and waits until they answer",
         .class = LB_STEP_FAULT,
         .named = "restart", /* of a server that runs it is one */
         .trace = LB_TRACE_ASKED,
         .needs = LB_NEED_SERVERS},
    [LB_STEP_UPGRADE] =
        {.form = "restart A as next",
         .help =
             "the same, and they start as the version that `next` names. Proved by what they say; replicas have caught up then",
         .class = LB_STEP_FAULT,
         .named = "next version",
         .needs = LB_NEED_SERVERS},
    [LB_STEP_CLOCK_JUMP] =
        {.form = "clock A [wall|monotonic] OFFSET",
         .help =
             "makes one clock of a role jump by OFFSET, the wall clock if none is named. Only ZooKeeper and clients can be asked for a monotonic clock: elsewhere `n/a`",
         .class = LB_STEP_FAULT,
         .named = "clock",
         .needs = LB_NEED_CLOCKS,
         .drawn = true},
    [LB_STEP_CLOCK_RATE] = {.form = "clock A rate R",
                            .help = "lets both clocks of a role run R times as fast",
                            .class = LB_STEP_FAULT,
                            .named = "clock",
                            .needs = LB_NEED_CLOCKS,
                            .drawn = true},
    [LB_STEP_ACQUIRE] =
        {.form = "client N acquire [shared] [lock L] [ttl D] within T",
         .help =
             "tries until it is granted or T has passed. A holder asks once more. L: one of several locks, else 1. `shared`: as a reader. D: the length of its lease",
         .class = LB_STEP_COMMAND,
         .asks = true},
    [LB_STEP_BEGIN_ACQUIRE] =
        {.form = "client N begin acquire [shared] [lock L] [ttl D] within T",
         .help = "the same, and the next steps go on meanwhile. The next step of this client waits for its outcome",
         .class = LB_STEP_COMMAND,
         .asks = true,
         .beside = true},
    [LB_STEP_BEGIN_SECTION] =
        {.form = "client N begin section within T",
         .help =
             "a whole critical section, while the next steps go on: acquire within T, read, write, release. The next step of this client waits for its end",
         .class = LB_STEP_COMMAND,
         .asks = true,
         .beside = true},
    [LB_STEP_OPEN_SECTION] =
        {.form = "client N open and begin section within T",
         .help = "the same of a client that opens its session only now. It is the first step of this client",
         .class = LB_STEP_COMMAND,
         .asks = true,
         .beside = true,
         .opens = true},
    [LB_STEP_MEANWHILE] =
        {.form = "meanwhile client N repeats: acquire [shared] [lock L] within T hold H rest I",
         .help =
             "acquires, holds for H, releases and rests for I, until the trial ends; the next steps go on beside it. The proof: two grants",
         .class = LB_STEP_COMMAND,
         .asks = true,
         .beside = true},
    [LB_STEP_RELEASE] = {.form = "client N release [lock L] within T",
                         .help = "releases, if it holds; once of what it was granted twice",
                         .class = LB_STEP_COMMAND,
                         .needs = LB_NEED_ASKED},
    [LB_STEP_RELEASE_OF] = {.form = "client N release lock of client M within T",
                            .help = "releases what client M was granted, by the token of that grant",
                            .class = LB_STEP_COMMAND,
                            .needs = LB_NEED_ASKED},
    [LB_STEP_RELEASE_ANYWAY] = {.form = "client N release anyway [lock L] within T",
                                .help = "repeats its latest release, as a late retry does, whatever it holds by now",
                                .class = LB_STEP_FAULT,
                                .named = "release|retr|unlock",
                                .needs = LB_NEED_ASKED},
    [LB_STEP_WORK] = {.form = "client N work [lock L] within T",
                      .help = "does the holder's work: the option or request `work`",
                      .class = LB_STEP_COMMAND,
                      .needs = LB_NEED_ASKED},
    [LB_STEP_READ] = {.form = "client N read [lock L]",
                      .help = "reads the resource, if it believes it holds",
                      .class = LB_STEP_COMMAND,
                      .needs = LB_NEED_ASKED},
    [LB_STEP_READ_EARLY] =
        {.form = "client N read early",
         .help = "reads the resource before it asks for the lock. Its write builds on that, unless it reads again",
         .class = LB_STEP_COMMAND},
    [LB_STEP_WRITE] = {.form = "client N write [lock L]",
                       .help = "writes what it read plus one, if it believes it holds",
                       .class = LB_STEP_COMMAND,
                       .needs = LB_NEED_ASKED},
    [LB_STEP_WRITE_LATE] =
        {.form = "client N write late",
         .help =
             "the same write leaves the client, and is on its way until a later step delivers it. The client goes on without an answer",
         .class = LB_STEP_FAULT,
         .named = "write",
         .needs = LB_NEED_ASKED,
         .undone_by = {LB_STEP_DELIVER}},
    [LB_STEP_DELIVER] = {.form = "deliver write of client N",
                         .help = "delivers the late write of that client to the resource",
                         .class = LB_STEP_CURE},
    [LB_STEP_REOPEN] =
        {.form = "client N reopen [on B] within T",
         .help =
             "ends the session of a client that does not hold and opens another one, which asks server B alone. Not in time = undecided",
         .class = LB_STEP_COMMAND},
    [LB_STEP_START] =
        {.form = "client N start within T",
         .help =
             "starts a client that an earlier step killed, with its name and host and no memory. Without a session in time = undecided",
         .class = LB_STEP_COMMAND,
         .needs = LB_NEED_DEAD},
    [LB_STEP_STOP_AT] = {.form = "stop client N at POINT",
                         .help = "the client stops itself (SIGSTOP) when it next passes that point of its program",
                         .class = LB_STEP_FAULT,
                         .named = "stop|pause",
                         .needs = LB_NEED_POINT,
                         .undone_by = {LB_STEP_RESUME}},
    [LB_STEP_CRASH_AT] = {.form =
                              "crash client N at POINT", /* it may have further steps: perhaps it never passes there */
                          .help = "the client kills itself (SIGKILL) when it next passes that point of its program",
                          .class = LB_STEP_FAULT,
                          .named = "die",
                          .needs = LB_NEED_POINT},
    [LB_STEP_HANG_AT] =
        {.form = "hang client N at POINT",
         .help =
             "the program of the client hangs when it next passes that point. Its process lives, and renewals go on",
         .class = LB_STEP_FAULT,
         .named = "hang",
         .needs = LB_NEED_POINT | LB_NEED_OUTSIDE,
         .undone_by = {LB_STEP_RESUME}},
    [LB_STEP_GATE_AT] =
        {.form = "gate client N at POINT",
         .help =
             "the client waits when it next passes that point, for as long as the steps up to `pass` take. For over a quarter of the lease it is undecided",
         .class = LB_STEP_COMMAND,
         .needs = LB_NEED_POINT},
    [LB_STEP_PASS] = {.form = "pass client N",
                      .help = "opens the gate, also if the client never came to it",
                      .class = LB_STEP_COMMAND,
                      .needs = LB_NEED_GATE},
    [LB_STEP_AWAIT_FAILOVER] = {.form = "await failover within T",
                                .help =
                                    "waits until another server decides, promoting one where that is an operator's job",
                                .class = LB_STEP_CONDITION,
                                .needs = LB_NEED_FAILOVER},
    [LB_STEP_AWAIT_ASKS] = {.form = "await client N asks within T",
                            .help = "waits until it is in the middle of an acquire",
                            .class = LB_STEP_CONDITION,
                            .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_WAITS] = {.form = "await client N waits within T",
                             .help = "waits until it was refused and goes on asking; in a queue it has its place then",
                             .class = LB_STEP_CONDITION,
                             .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_HOLDS] = {.form = "await client N holds within T",
                             .help = "waits until it was granted the lock",
                             .class = LB_STEP_CONDITION,
                             .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_GRANTED] = {.form = "await client N is granted within T",
                               .help = "waits until its latest acquire was granted, also if it held before",
                               .class = LB_STEP_CONDITION,
                               .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_GAVE_UP] =
        {.form = "await client N gave up within T",
         .help = "waits until its latest acquire ended without a grant. Not in time, or granted = undecided",
         .class = LB_STEP_CONDITION,
         .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_PLACE] = {.form = "await client N has a place within T",
                             .help = "waits until a server, asked, has a place in the queue for its session",
                             .class = LB_STEP_CONDITION,
                             .needs = LB_NEED_ASKED | LB_NEED_PLACE},
    [LB_STEP_AWAIT_WRITTEN] = {.form = "await client N has written within T",
                               .help = "waits until it wrote the resource after its grant",
                               .class = LB_STEP_CONDITION,
                               .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_STOPPED] = {.form = "await client N is stopped within T",
                               .help = "waits until it stands still at the armed point. Not in time = undecided",
                               .class = LB_STEP_CONDITION,
                               .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_CRASHED] = {.form = "await client N has crashed within T",
                               .help = "waits until it has killed itself at the armed point. Not in time = undecided",
                               .class = LB_STEP_CONDITION,
                               .needs = LB_NEED_ASKED},
    [LB_STEP_AWAIT_WOKEN] =
        {.form = "await client N is woken within T",
         .help =
             "waits until it was told that the lock may be free, before it has heard of a grant. Not in time = undecided",
         .class = LB_STEP_CONDITION,
         .needs = LB_NEED_ASKED | LB_NEED_WAKES},
    [LB_STEP_AWAIT_ABSENT] = {.form = "await key absent on A within T",
                              .help = "waits until server A has no record that a client holds the lock",
                              .class = LB_STEP_CONDITION,
                              .needs = LB_NEED_ONE_SERVER},
    [LB_STEP_AWAIT_CAUGHT_UP] =
        {.form = "await replica A is online and caught up within T",
         .help =
             "waits until server A follows the server that decides and has all that it has, by asking both. Not in time = undecided",
         .class = LB_STEP_CONDITION,
         .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_FOLLOWERS},
    [LB_STEP_AWAIT_SESSION] =
        {.form = "await session of client N ended within T",
         .help =
             "waits until the server that decides no longer knows the session of this client's latest try. Not in time = undecided",
         .class = LB_STEP_CONDITION,
         .needs = LB_NEED_ASKED | LB_NEED_SESSION},
    [LB_STEP_LET_FAILOVER] =
        {.form = "let failover within T",
         .help =
             "gives a failover the time T, promoting a server where that is an operator's job, and goes on either way. The outcome is recorded",
         .class = LB_STEP_PAUSES},
    [LB_STEP_LET_SYNC] =
        {.form = "let A sync within T",
         .help =
             "gives server A the time T to sync what it has written, and goes on either way. The outcome is recorded",
         .class = LB_STEP_PAUSES,
         .needs = LB_NEED_SERVERS | LB_NEED_ONE_SERVER | LB_NEED_SYNCS},
    [LB_STEP_LET_HOLD] =
        {.form = "let client N hold within T",
         .help = "gives a client the time T to be granted the lock, and goes on either way. The outcome is recorded",
         .class = LB_STEP_PAUSES,
         .needs = LB_NEED_ASKED},
    [LB_STEP_LET_WRITE] =
        {.form = "let client N write within T",
         .help = "gives a client the time T to write the resource, and goes on either way. The outcome is recorded",
         .class = LB_STEP_PAUSES,
         .needs = LB_NEED_ASKED},
    [LB_STEP_LET_EITHER_WRITE] = {.form = "let client N or M write within T",
                                  .help = "the same of two clients, until one of them has written",
                                  .class = LB_STEP_PAUSES,
                                  .needs = LB_NEED_ASKED},
    [LB_STEP_WAIT] = {.form = "wait T", .help = "waits", .class = LB_STEP_PAUSES},
    [LB_STEP_OBSERVE_KEY] = {.form = "observe key on A",
                             .help = "records the fact \"key present on A\" or \"key absent on A\"; A is one server",
                             .class = LB_STEP_OBSERVATION,
                             .needs = LB_NEED_ONE_SERVER},
    [LB_STEP_OBSERVE_CLIENT] =
        {.form = "observe client N",
         .help =
             "records whether client N holds: it believes so, and its lease still runs. Nobody is asked, so the client may be paused",
         .class = LB_STEP_OBSERVATION,
         .needs = LB_NEED_ASKED},
    [LB_STEP_OBSERVE_SERVER] = {.form = "observe server of client N",
                                .help = "records the server that the client talks to now, for the facts about it",
                                .class = LB_STEP_OBSERVATION},
    [LB_STEP_OBSERVE_LEAVES] =
        {.form = "observe A leaves within T",
         .help =
             "waits until server A says that it serves nobody, and records whether it did. Only ZooKeeper can be asked",
         .class = LB_STEP_OBSERVATION,
         .needs = LB_NEED_ONE_SERVER | LB_NEED_MEMBERS},
};

const struct lb_step_row *lb_step_row(const struct lb_step *step) { return &lb_step_rows[step->verb]; }

bool lb_step_needs(const struct lb_step *step, enum lb_step_need need) { return lb_step_row(step)->needs & need; }

/* A cure without a second role takes back what its verb can take back, also where it stands with
 * another role: one host may go by several. One with two roles, or with the number of a client, takes
 * back only what was done to these, in this order. */
bool lb_step_undoes(const struct lb_step *cure, const struct lb_step *earlier) {
  const enum lb_verb *by = lb_step_row(earlier)->undone_by;
  bool alike = lb_role_equal(cure->a, earlier->a) && lb_role_equal(cure->b, earlier->b);
  bool of_a_kind = cure->a.kind == LB_ROLE_NONE || earlier->a.kind == LB_ROLE_NONE ||
                   lb_role_is_client(cure->a) == lb_role_is_client(earlier->a);
  bool exact = cure->b.kind != LB_ROLE_NONE || lb_step_form_has(lb_step_row(cure), "N");
  return (cure->verb == by[0] || cure->verb == by[1]) && (exact ? alike : of_a_kind);
}

/* A cut between a client and a server hits the server, too: it may be the one that must be replaced. */
bool lb_step_hits_server(const struct lb_step *step) {
  bool linked = step->b.kind != LB_ROLE_NONE && !lb_role_is_client(step->b);
  return lb_step_row(step)->class == LB_STEP_FAULT && (linked || !lb_role_is_client(step->a));
}

bool lb_step_outlives(const struct lb_step *step) {
  return lb_step_hits_server(step) && lb_step_row(step)->trace == LB_TRACE_LASTS;
}

bool lb_step_by_hand(const struct lb_step *step) { return step->verb == LB_STEP_OPERATOR; }

const char *lb_step_order(const struct lb_step *step, int *ret_length) {
  const char *begin = strchr(step->text, '"') + 1;
  *ret_length = (int)(strrchr(begin, '"') - begin);
  return begin;
}

int lb_step_later_primary(const struct lb_step *step) {
  if (step->a.kind == LB_ROLE_PRIMARY && step->a.number) return step->a.number;
  return step->b.kind == LB_ROLE_PRIMARY ? step->b.number : 0;
}

bool lb_step_form_has(const struct lb_step_row *row, const char *part) {
  size_t len = strlen(part);
  for (const char *at = row->form; at; at = strchr(at, ' ')) {
    at += *at == ' ';
    if (strncmp(at, part, len) == 0 && (at[len] == ' ' || at[len] == '\0')) return true;
  }
  return false;
}

static int first_word(enum lb_verb verb) { return (int)strcspn(lb_step_rows[verb].form, " "); }

/* Whether an earlier verb that is chosen begins with the same word: "clock A OFFSET", "clock A rate R". */
static bool is_listed(enum lb_verb verb, const bool *chosen) {
  int len = first_word(verb);
  for (enum lb_verb v = 0; v < verb; v++)
    if (chosen[v] && first_word(v) == len && strncmp(lb_step_rows[v].form, lb_step_rows[verb].form, (size_t)len) == 0)
      return true;
  return false;
}

void lb_step_list(const bool chosen[LB_VERB_COUNT], char *buf, size_t size) {
  enum lb_verb words[LB_VERB_COUNT];
  size_t count = 0, at = 0;
  for (enum lb_verb v = 0; v < LB_VERB_COUNT; v++)
    if (chosen[v] && !is_listed(v, chosen)) words[count++] = v;
  buf[0] = '\0';
  for (size_t i = 0; i < count && at < size; i++)
    at += (size_t)snprintf(buf + at, size - at, "%s%.*s",
                           i == 0           ? ""
                           : i + 1 == count ? " or "
                                            : ", ",
                           first_word(words[i]), lb_step_rows[words[i]].form);
}
