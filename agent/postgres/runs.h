/* SPDX-License-Identifier: Apache-2.0 */
/* Executions and their labels. */
#ifndef TAILOR_PG_RUNS_H
#define TAILOR_PG_RUNS_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "query.h"

#pragma GCC visibility push(hidden)

/* What short runs share ends after this many cycles: some half a minute. */
#define TAILOR_SHARED_CYCLES UINT64CONST(100000000000)

/* Begins the execution of a query. `now`: TSC. */
void tailor_run_begin(TailorQuery* open, QueryDesc* query, uint64 now);
/* It ended; `error` NULL: in success. */
void tailor_run_end(TailorQuery* open, uint64 rows, const char* error);
/* Begins the execution of a command whose plan was told. 0: there is no agent. */
uint64_t tailor_command_run_begin(uint64_t plan, uint64 query_id, const TailorPiece* piece);
/* Ends what short runs of the plan share. */
void tailor_shared_run_end(TailorPlan* plan);

#pragma GCC visibility pop

#endif
