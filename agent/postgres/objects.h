/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a query as objects that call stacks show. */
#ifndef TAILOR_PG_OBJECTS_H
#define TAILOR_PG_OBJECTS_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "query.h"

#pragma GCC visibility push(hidden)

/* A table for the nodes of a query whose memory context is the current one. `is_only`: no other query is open
 * that said so. */
struct tailor_objects* tailor_objects_new(TailorQuery* open, bool is_only);
void tailor_object_set(struct tailor_objects* objects, PlanState* node);
/* No wrapper names it, but that of a node above. */
bool tailor_is_hidden(PlanState* node);

#pragma GCC visibility pop

#endif
