/* SPDX-License-Identifier: MIT
 *
 * coroutine.h - code with a stack of its own, which runs until it yields and goes on where it did. It belongs to one
 * thread, which resumes it from outside of every coroutine.
 */
#ifndef LB_COROUTINE_H
#define LB_COROUTINE_H

#include <stdbool.h>

struct lb_coroutine;

/* Begins with the first lb_coroutine_resume(), with run(arg). NULL with errno. */
struct lb_coroutine *lb_coroutine_new(void (*run)(void *arg), void *arg);
/* Until it yields. False: run() has returned, and it must not be resumed again. */
bool lb_coroutine_resume(struct lb_coroutine *coroutine);
/* Called inside the coroutine: back to the caller of lb_coroutine_resume(). */
void lb_coroutine_yield(struct lb_coroutine *coroutine);
/* From outside, wherever it has come to. What its stack refers to is not freed. NULL is fine. */
void lb_coroutine_free(struct lb_coroutine *coroutine);

#endif
