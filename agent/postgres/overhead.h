/* SPDX-License-Identifier: Apache-2.0 */
/* What the wrappers of a plan cost, and whether they are worth it. */
#ifndef TAILOR_PG_OVERHEAD_H
#define TAILOR_PG_OVERHEAD_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "lib/stringinfo.h"
#include "plan.h"
#include "query.h"

#pragma GCC visibility push(hidden)

/* The query ran and counted its rows: notes what wrappers cost its plan. */
void tailor_judge(const TailorQuery* open, QueryDesc* query);
/* The plan runs and nobody judges it yet: the next execution of its statement is to. */
void tailor_judge_next(const TailorPlan* plan, const QueryDesc* query);
/* Whether this is such an execution. It is the only one that is told so. */
bool tailor_is_to_be_judged(const QueryDesc* query);
/* The CPU time of this backend. */
int64 tailor_cpu_ns(void);
/* Whether the next execution of the plan is wrapped. What is wrapped keeps to tailor.most_overhead. */
bool tailor_wraps(const TailorPlan* plan);
/* "0.4 % of its time". False: nothing is known. */
bool tailor_wrappers_text(const TailorPlan* plan, StringInfo out);

#pragma GCC visibility pop

#endif
