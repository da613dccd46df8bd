/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers around ExecProcNode that keep the slot. */
#ifndef TAILOR_PG_WRAP_H
#define TAILOR_PG_WRAP_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "query.h"

#pragma GCC visibility push(hidden)

/* Puts all nodes of a query into its table of objects. With `wrapped` it wraps them too, and those again that
 * the server has unwrapped since. */
void tailor_take_nodes(TailorQuery* open, QueryDesc* query, bool wrapped);
/* The query ends: gives back what its nodes do not need any more. */
void tailor_drop_nodes(TailorQuery* open);

#pragma GCC visibility pop

/* For tests: the plan_node_id that the slot names, -1 if it names none. */
extern PGDLLEXPORT int tailor_pg_slot_node(void);

#endif
