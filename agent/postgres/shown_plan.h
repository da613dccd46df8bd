/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as text, for tailor_last_plan(). */
#ifndef TAILOR_PG_SHOWN_PLAN_H
#define TAILOR_PG_SHOWN_PLAN_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "plan.h"

#pragma GCC visibility push(hidden)

/* Writes plan->text, with the numbers of `query` if it counted rows (shown_plan.c). */
void tailor_show(QueryDesc* query, TailorPlan* plan, bool with_rows);

#pragma GCC visibility pop

#endif
