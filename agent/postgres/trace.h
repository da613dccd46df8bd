/* SPDX-License-Identifier: Apache-2.0 */
/* The trace that a statement belongs to. */
#ifndef TAILOR_PG_TRACE_H
#define TAILOR_PG_TRACE_H

#include "postgres.h"

#include "statement.h"

#pragma GCC visibility push(hidden)

typedef struct {
  char id[33];
  char span[17]; /* whose work the statement is; "" none */
  bool sampled;  /* somebody keeps the trace */
} TailorTrace;

/* What a traceparent says in a comment that begins or ends the statement. False: there is none, or it is at
 * the end of a statement of more than 1 MB. */
bool tailor_trace_of(const TailorPiece* piece, TailorTrace* out);

#pragma GCC visibility pop

#endif
