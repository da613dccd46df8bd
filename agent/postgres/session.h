/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of this backend. */
#ifndef TAILOR_PG_SESSION_H
#define TAILOR_PG_SESSION_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* True while a daemon listens, as far as the last look tells. */
extern bool tailor_listened;

/* True while a daemon listens. Starts the agent on the first call, and pumps it now and then. `now`: TSC. */
bool tailor_session_live(uint64 now);
/* Sends what waits, as far as the socket takes it. */
void tailor_session_pump(void);

#pragma GCC visibility pop

#endif
