/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the locks that backends wait for. */
#ifndef TAILOR_PG_LOCKS_H
#define TAILOR_PG_LOCKS_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* Where the library is preloaded: the server starts a process that looks, if its settings want one. */
void tailor_register_lock_watch(void);

#pragma GCC visibility pop

#endif
