/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions of nodes. The server prints them as for EXPLAIN, and the literals are taken out of that text
 * as they are out of statements.
 */
#include "postgres.h"

#include "conditions.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "settings.h"
#include "statement.h"
#include "walk.h"

/* Of one condition. A longer one is cut. */
#define CONDITION_BYTES 2000
/* The server prints a condition as a whole, and a literal in it may be as long as a message. What is longer
 * than this is not printed. */
#define PRINTED_BYTES 262144
/* Of a node of a condition, beside its literal. */
#define NODE_BYTES 8

/* Whether the condition is longer than what is left, which becomes less. */
static bool is_longer_than(Node* node, void* left) {
  Size *most = left, bytes = NODE_BYTES;
  if (!node) return false;
  if (IsA(node, Const)) {
    const Const* literal = (const Const*)node;
    if (!literal->constisnull)
      bytes += datumGetSize(literal->constvalue, literal->constbyval, literal->constlen);
  }
  if (bytes > *most) return true;
  *most -= bytes;
  return expression_tree_walker(node, is_longer_than, left);
}

static void add_condition(StringInfo out, const char* label, List* clauses, List* context, bool with_table) {
  StringInfoData shown;
  Size most = PRINTED_BYTES;
  if (clauses == NIL || tailor_query_text == TAILOR_TEXT_OFF) return;
  Node* condition = (Node*)make_ands_explicit(clauses);
  if (is_longer_than(condition, &most)) {
    appendStringInfo(out, "%s%s: ...", out->len > 0 ? "; " : "", label);
    return;
  }
  TailorPiece piece = {deparse_expression(condition, context, with_table, false), -1};
  initStringInfo(&shown);
  if (!tailor_statement_text(&piece, &shown)) return;
  int length = shown.len > CONDITION_BYTES ? pg_mbcliplen(shown.data, shown.len, CONDITION_BYTES) : shown.len;
  appendStringInfo(out, "%s%s: ", out->len > 0 ? "; " : "", label);
  appendBinaryStringInfo(out, shown.data, length);
  if (length < shown.len) appendStringInfoString(out, " ...");
}

/* What only nodes of this kind have. */
static void add_own_conditions(StringInfo out, Plan* plan, List* context, bool with_table) {
  switch (nodeTag(plan)) {
    case T_IndexScan:
      return add_condition(out, "Index Cond", ((IndexScan*)plan)->indexqualorig, context, false);
    case T_IndexOnlyScan:
      return add_condition(out, "Index Cond", ((IndexOnlyScan*)plan)->indexqual, context, false);
    case T_BitmapIndexScan:
      return add_condition(out, "Index Cond", ((BitmapIndexScan*)plan)->indexqualorig, context, false);
    case T_BitmapHeapScan:
      return add_condition(out, "Recheck Cond", ((BitmapHeapScan*)plan)->bitmapqualorig, context, false);
    case T_HashJoin:
      add_condition(out, "Hash Cond", ((HashJoin*)plan)->hashclauses, context, with_table);
      return add_condition(out, "Join Filter", ((Join*)plan)->joinqual, context, with_table);
    case T_MergeJoin:
      add_condition(out, "Merge Cond", ((MergeJoin*)plan)->mergeclauses, context, with_table);
      return add_condition(out, "Join Filter", ((Join*)plan)->joinqual, context, with_table);
    case T_NestLoop:
      return add_condition(out, "Join Filter", ((Join*)plan)->joinqual, context, with_table);
    case T_Result:
      return add_condition(out, "One-Time Filter", (List*)((Result*)plan)->resconstantqual, context,
                           with_table);
    default:
      return;
  }
}

/* Scans of a table name its columns without it, as in EXPLAIN. */
static bool is_scan_of_table(const Plan* plan) {
  switch (nodeTag(plan)) {
    case T_SeqScan:
    case T_SampleScan:
    case T_IndexScan:
    case T_IndexOnlyScan:
    case T_BitmapHeapScan:
    case T_TidScan:
    case T_TidRangeScan:
    case T_ForeignScan:
    case T_CustomScan:
    case T_FunctionScan:
    case T_TableFuncScan:
    case T_ValuesScan:
    case T_CteScan:
    case T_NamedTuplestoreScan:
    case T_WorkTableScan:
      return true;
    default:
      return false;
  }
}

/* What lies above a node, the nearest first, as EXPLAIN gives it to the printer: plans, and the subplans
 * between them. What a condition takes from above, such as the other table's column, is looked for there. */
static List* what_is_above(const TailorConditions* of, PlanState* node) {
  List* above = NIL;
  for (PlanState* parent; (parent = of->parents[node->plan->plan_node_id]) != NULL; node = parent) {
    SubPlan* subplan = tailor_subplan(node, parent);
    if (subplan) above = lappend(above, subplan);
    above = lappend(above, parent->plan);
  }
  return above;
}

static void print_conditions(TailorConditions* of, PlanState* node, StringInfo out) {
  Plan* plan = node->plan;
  PlannedStmt* statement = of->query->plannedstmt;
  int tables = list_length(statement->rtable);
  if (!of->names)
    of->names = deparse_context_for_plan_tree(
        statement, select_rtable_names_for_explain(statement->rtable, bms_add_range(NULL, 1, tables)));
  List* above = what_is_above(of, node);
  List* context = set_deparse_context_plan(of->names, plan, above);
  bool with_table = tables > 1;
  add_own_conditions(out, plan, context, with_table);
  add_condition(out, "Filter", plan->qual, context, with_table && !is_scan_of_table(plan));
  list_free(above);
}

bool tailor_node_conditions(TailorConditions* of, PlanState* node, StringInfo out) {
  /* The leader tells the plan of its workers. */
  if (!tailor_conditions || of->useless || IsParallelWorker()) return false;
  MemoryContext caller = CurrentMemoryContext;
  of->useless = true; /* unless it is printed */
  PG_TRY();
  {
    print_conditions(of, node, out);
    of->useless = false;
  }
  PG_CATCH();
  {
    /* A statement does not fail because the server cannot print a condition, which it says as an internal
     * error or as too deep an expression. All else ends it, such as a cancel or a lock that it does not get.
     */
    if (geterrcode() != ERRCODE_INTERNAL_ERROR && geterrcode() != ERRCODE_STATEMENT_TOO_COMPLEX)
      PG_RE_THROW();
    MemoryContextSwitchTo(caller);
    FlushErrorState();
    resetStringInfo(out);
  }
  PG_END_TRY();
  return out->len > 0;
}
