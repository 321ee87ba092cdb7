/* SPDX-License-Identifier: MIT
 *
 * process.h - this process: where its files are, what it forgets of the user's environment, its name, its children, and what hints tell
 * the user to type.
 */
#ifndef LB_PROCESS_H
#define LB_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LB_SCENARIOS "scenarios" /* below lb_process_root() */

/* The folder of scenarios/ and plots/: LOCKBENCH_ROOT, else that of an installed program, else where the sources were
 * when this was built. Not to be freed. */
const char *lb_process_root(void);
/* Whether that is the folder of an installed program, to which users have no write access. */
bool lb_process_is_installed(void);
/* What installs the libraries of others: "./bench peers", or a script of an installed program. Not to be freed. */
const char *lb_process_peers_installer(void);
/* The same of other versions of servers: "./bench servers", or a script. */
const char *lb_process_servers_installer(void);

/* Forgets settings that client libraries and servers would pick up on their own: a PGOPTIONS can change a verdict. It
 * does so for this process and those that it starts from now on. */
void lb_process_forget_environ(void);

/* The name under which ps, pgrep and pkill see this process. To be called by main() with its own arguments, before
 * anything forks. */
void lb_process_title_init(int argc, char **argv);
/* Renames this process; cut to the space its arguments take. Without lb_process_title_init() only the short
 * name changes. */
void lb_process_title_set(const char *title);

/* fork() for a child that must not outlive its parent: the kernel kills it then, however the parent ended. */
pid_t lb_process_fork(void);
/* Waits for a child, and at the deadline kills it with its process group, if it leads one. True with its status, as of
 * waitpid(2), if it ended by itself. `deadline_ns` is a time of lb_clock_ns(). */
bool lb_process_await(pid_t pid, uint64_t deadline_ns, int *ret_status);

/* From now on this process, and what it starts, interrupts no other process when what it waits for has come: it goes on
 * when a processor is free or a turn is over (SCHED_BATCH). Its share of the processor stays as it is. Where the kernel
 * refuses, nothing changes. */
void lb_process_give_way(void);

/* LOCKBENCH_CALLED_AS if it is set and not empty (./bench sets it), else "lockbench". Never NULL;
 * not to be freed, and good until the environment changes. */
const char *lb_process_called(void);
/* A path as one would type it here: without the current folder where it is below that. Part of `path`. */
const char *lb_process_from_here(const char *path);

#endif
