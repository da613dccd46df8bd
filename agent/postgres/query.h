/* SPDX-License-Identifier: Apache-2.0 */
/* A query that is measured. */
#ifndef TAILOR_PG_QUERY_H
#define TAILOR_PG_QUERY_H

#include "postgres.h"

#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "plan.h"
#include "statement.h"

#pragma GCC visibility push(hidden)

/* A Hash Join of a query (wrap.c). */
typedef struct TailorJoin {
  PlanState* join;
  ExecProcNodeMtd first;      /* what its function was made by us */
  PlanState* source;          /* what its Hash reads */
  ExprState* key;             /* evaluated for each tuple of the other input, before all else */
  ExprStateEvalFunc evaluate; /* of `key`, while `key` has ours; else NULL */
} TailorJoin;

/* A query between ExecutorStart and ExecutorEnd, in its own memory context. */
typedef struct TailorQuery {
  dlist_node open; /* among the open queries */
  EState* estate;
  TailorPiece piece; /* its text */
  TailorPlan* plan;
  uint64_t run;    /* of the agent */
  bool shared;     /* `run` belongs to the plan */
  bool rows;       /* its actual rows are counted */
  bool wrapped;    /* its nodes are */
  uint64_t cycles; /* that it ran */
  uint64_t since;  /* TSC of its start, 0 once it has run: the first run begins there */
  uint64_t began;  /* TSC of its start */
  int64 cpu_ns;    /* where rows are counted */
  MemoryContextCallback at_end;
  List* joins;                    /* of TailorJoin */
  struct tailor_objects* objects; /* its nodes */
} TailorQuery;

#pragma GCC visibility pop

#endif
