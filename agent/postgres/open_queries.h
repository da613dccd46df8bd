/* SPDX-License-Identifier: Apache-2.0 */
/* The queries that are measured, by their state. */
#ifndef TAILOR_PG_OPEN_QUERIES_H
#define TAILOR_PG_OPEN_QUERIES_H

#include "postgres.h"

#include "query.h"

#pragma GCC visibility push(hidden)

/* The open query of this state, NULL: it is not measured (open_queries.c). */
TailorQuery* tailor_open_query(const EState* estate);
void tailor_add_open_query(TailorQuery* open);
void tailor_remove_open_query(TailorQuery* open);

#pragma GCC visibility pop

#endif
