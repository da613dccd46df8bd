/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a plan as EXPLAIN calls them. */
#ifndef TAILOR_PG_NODE_NAMES_H
#define TAILOR_PG_NODE_NAMES_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/execnodes.h"

#pragma GCC visibility push(hidden)

/* What EXPLAIN calls a node: "Parallel Seq Scan on orders o". */
void tailor_node_name(PlanState* node, StringInfo out);
/* The same without what tells nodes of one kind apart: "Seq Scan". */
const char* tailor_node_kind(PlanState* node);
/* The table that a node reads or changes, and the index that it reads. InvalidOid: none. */
Oid tailor_relation_of(PlanState* node);
Oid tailor_index_of(PlanState* node);

#pragma GCC visibility pop

#endif
