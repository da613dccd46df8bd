/* SPDX-License-Identifier: Apache-2.0 */
/* What this backend waits for, and what the server calls it. */
#ifndef TAILOR_PG_WAITS_H
#define TAILOR_PG_WAITS_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* Asks the server for the names of its wait events, once. */
void tailor_learn_waits(void);
/* Says them to the daemon, and where this backend keeps its own. */
void tailor_tell_waits(void);

#pragma GCC visibility pop

#endif
