/* SPDX-License-Identifier: Apache-2.0 */
/* What tells the plans of one statement apart. */
#ifndef TAILOR_PG_SHAPE_H
#define TAILOR_PG_SHAPE_H

#include "postgres.h"

#include "executor/execdesc.h"

#pragma GCC visibility push(hidden)

typedef struct {
  uint64 hash;
  int node_ids; /* above all plan_node_id */
} TailorShape;

/* The shape of an initialised query. `of_text` differs between statements that have one plan. */
TailorShape tailor_shape_of(QueryDesc* query, uint64 of_text);

#pragma GCC visibility pop

#endif
