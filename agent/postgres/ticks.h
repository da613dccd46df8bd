/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of the TSC, as this backend measures it. */
#ifndef TAILOR_PG_TICKS_H
#define TAILOR_PG_TICKS_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* Begins to measure, unless it has begun. Call it before the first run ends. */
void tailor_ticks_begin(void);
/* How many ns a cycle of the TSC takes, by all of the time since then. 0: that is not known. */
double tailor_ns_per_cycle(void);

#pragma GCC visibility pop

#endif
