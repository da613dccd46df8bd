/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a query. */
#ifndef TAILOR_PG_WALK_H
#define TAILOR_PG_WALK_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#pragma GCC visibility push(hidden)

/* Walks the nodes of a query, each once: those of the main tree first, a parent before its children.
 * `parent` is NULL at a root. */
typedef void (*TailorVisit)(PlanState* node, PlanState* parent, void* context);
void tailor_walk(QueryDesc* query, TailorVisit visit, void* context);

/* By which `parent` calls the node; NULL: it is an input. */
SubPlan* tailor_subplan(PlanState* node, PlanState* parent);
/* "SubPlan 1", "InitPlan 2 (returns $1)", "CTE x": NULL for an input of `parent`. */
const char* tailor_subplan_name(PlanState* node, PlanState* parent);

#pragma GCC visibility pop

#endif
