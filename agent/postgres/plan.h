/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as it was told to the daemon. */
#ifndef TAILOR_PG_PLAN_H
#define TAILOR_PG_PLAN_H

#include "postgres.h"

#include "lib/ilist.h"
#include "tailor/agent.h"
#include "tailor/dictionary.h"

#pragma GCC visibility push(hidden)

/* A plan that was told to the daemon. Lives until it is the one that was not used for longest. */
typedef struct TailorPlan {
  uint64 query_id, hash; /* the key, with */
  Oid user;              /* who runs it */
  struct tailor_plan_ids ids;
  int node_ids;                   /* above all plan_node_id */
  uint64_t* tags;                 /* by plan_node_id */
  uint64_t* returns;              /* by plan_node_id: the tag that a static child leaves behind */
  uint64_t run_tag, triggers_tag; /* in the slot where none of its nodes runs */
  int users;                      /* queries that hold it */
  dlist_node by_use;              /* least recently used last */
  /* How long its runs take, a moving average, in cycles of the TSC; 0: it has not run yet. */
  double cycles;
  /* The execution that short runs share; 0: none is open. */
  uint64_t shared_run;
  uint64_t shared_since; /* TSC */
  uint32 shared_labels;  /* what was said of it, as a number */
  /* What these runs come to so far; NULL: there was none yet. */
  struct tailor_runs* runs;
  double ns_per_cycle; /* by which their times are told */
  /* The part of its time that wrappers cost, by the last execution that counted calls; below 0: none did. */
  double wrapper_part;
  char* text; /* tailor_last_plan() */
} TailorPlan;

/* The component of a node on the level "operator". */
#define TAILOR_COMPONENT_OF(plan_node_id) ((uint32_t)(plan_node_id) + 1)

#pragma GCC visibility pop

#endif
