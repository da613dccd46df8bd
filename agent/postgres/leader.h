/* SPDX-License-Identifier: Apache-2.0 */
/* What parallel workers know of their leader. */
#ifndef TAILOR_PG_LEADER_H
#define TAILOR_PG_LEADER_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* What a parallel worker is told by its leader. */
typedef struct {
  char execution[33]; /* 32 hexadecimal digits */
  int begin, length;  /* its TailorPiece in the source text, whose end nobody has looked for yet */
} TailorLeader;

/* False: this is no worker, or its leader told it nothing. */
bool tailor_leader_of_worker(TailorLeader* out);

#pragma GCC visibility pop

#endif
