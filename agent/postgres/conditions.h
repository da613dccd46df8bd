/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of nodes, as EXPLAIN prints them. */
#ifndef TAILOR_PG_CONDITIONS_H
#define TAILOR_PG_CONDITIONS_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"

#pragma GCC visibility push(hidden)

/* Of the nodes of one query; `query` and `parents` are set at the begin. */
typedef struct {
  QueryDesc* query;
  PlanState** parents; /* by plan_node_id; NULL: it has none */
  List* names;         /* what its tables are called */
  bool useless;        /* the server could not print a condition: no more are told */
} TailorConditions;

/* Puts "Index Cond: (a = ?); Filter: (b < ?)" into `out`, which is empty, with literals as tailor.query_text
 * says. False: the node has none, or they are not told (tailor.conditions). */
bool tailor_node_conditions(TailorConditions* of, PlanState* node, StringInfo out);

#pragma GCC visibility pop

#endif
