/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the server. */
#ifndef TAILOR_PG_HOOKS_H
#define TAILOR_PG_HOOKS_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* Where the server calls us from now on. */
void tailor_install_hooks(void);

#pragma GCC visibility pop

#endif
