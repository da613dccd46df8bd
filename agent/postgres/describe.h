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

/* A component of a plan that is being made. */
typedef struct {
  struct tailor_plan_builder* builder;
  int32_t level;
  uint32_t component;
} TailorPlace;

/* Says which table it works on, and by which index. InvalidOid: none. What is gone has no name. */
void tailor_tell_relation(const TailorPlace* place, Oid table, Oid index);

/* The text of the statement as it is told, in UTF-8; NULL: none is. */
const char* tailor_told_text(const TailorPiece* piece);
/* What its plan is called: the begin of the text, else the query id. */
const char* tailor_told_name(const char* text, uint64 query_id);

#pragma GCC visibility pop

#endif
