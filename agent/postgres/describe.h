/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a dictionary. */
#ifndef TAILOR_PG_DESCRIBE_H
#define TAILOR_PG_DESCRIBE_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "plan.h"
#include "statement.h"

#pragma GCC visibility push(hidden)

/* Loads the plan under its ids, with the actual rows of `query` if `with_rows`. False: refused by the agent.
 */
bool tailor_describe(QueryDesc* query, const TailorPiece* piece, TailorPlan* plan, bool with_rows);

#pragma GCC visibility pop

#endif
