/* SPDX-License-Identifier: Apache-2.0 */
/* Utility commands that work on tables by themselves. */
#ifndef TAILOR_PG_COMMAND_H
#define TAILOR_PG_COMMAND_H

#include "postgres.h"

#include "statement.h"

#pragma GCC visibility push(hidden)

/* Begins the execution of a utility command that runs now, in a transaction. False: it gets none, and
 * tailor_command_end may not be called. A command below another one gets none. */
bool tailor_command_begin(const TailorUtility* utility);
/* It ended. `rows`: UINT64_MAX where it counts none. */
void tailor_command_end(uint64 rows, bool failed);
/* Whether one is between begin and end. */
bool tailor_command_runs(void);

#pragma GCC visibility pop

#endif
