/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is told of its last statement. */
#ifndef TAILOR_PG_LAST_EXECUTION_H
#define TAILOR_PG_LAST_EXECUTION_H

#include "postgres.h"

#include "plan.h"

#pragma GCC visibility push(hidden)

/* What tailor_last_execution() and tailor_last_plan() say, and how a run is called: 32 hexadecimal digits
 * (last_execution.c). */
void tailor_remember_run(uint64_t run, TailorPlan* plan);
/* The same of a utility command that `user` ran, which has no plan to show. */
void tailor_remember_command(uint64_t run, Oid user);
/* A statement ran that has no execution. */
void tailor_forget_run(void);
/* The plan goes. */
void tailor_forget_plan(const TailorPlan* plan);
void tailor_run_name(uint64_t run, char out[33]);
/* The run that is remembered, and its plan, NULL: it has none to show. 0: there is no run, or it is another
 * user's, which a notice says. */
uint64_t tailor_last_run(TailorPlan** plan);

#pragma GCC visibility pop

#endif
