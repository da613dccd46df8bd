/* SPDX-License-Identifier: Apache-2.0 */
/* The plans that this backend has told about, by (query id, hash of the plan). */
#ifndef TAILOR_PG_PLANS_H
#define TAILOR_PG_PLANS_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "plan.h"
#include "statement.h"

#pragma GCC visibility push(hidden)

/* The plan of an initialised query, told to the daemon if it is new. NULL if that was not possible. `now`:
 * TSC.
 */
TailorPlan* tailor_plan_of(QueryDesc* query, const TailorPiece* piece, uint64 now);
void tailor_plan_release(TailorPlan* plan);

#pragma GCC visibility pop

#endif
