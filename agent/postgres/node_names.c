/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as EXPLAIN calls them. */
#include "postgres.h"

#include "node_names.h"

#include "executor/executor.h"
#include "nodes/extensible.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static const char* join_name(PlanState* node, const char* inner, const char* stem) {
  switch (((Join*)node->plan)->jointype) {
    case JOIN_INNER:
      return inner;
    case JOIN_LEFT:
      return psprintf("%s Left Join", stem);
    case JOIN_FULL:
      return psprintf("%s Full Join", stem);
    case JOIN_RIGHT:
      return psprintf("%s Right Join", stem);
    case JOIN_SEMI:
      return psprintf("%s Semi Join", stem);
    case JOIN_ANTI:
      return psprintf("%s Anti Join", stem);
#if PG_VERSION_NUM >= 160000
    case JOIN_RIGHT_ANTI:
      return psprintf("%s Right Anti Join", stem);
#endif
#if PG_VERSION_NUM >= 180000
    case JOIN_RIGHT_SEMI:
      return psprintf("%s Right Semi Join", stem);
#endif
    default:
      return psprintf("%s ??? Join", stem);
  }
}

static const char* agg_name(const Agg* agg) {
  static const char* const kNames[] = {"Aggregate", "GroupAggregate", "HashAggregate", "MixedAggregate"};
  const char* name = kNames[agg->aggstrategy];
  if (DO_AGGSPLIT_SKIPFINAL(agg->aggsplit)) return psprintf("Partial %s", name);
  if (DO_AGGSPLIT_COMBINE(agg->aggsplit)) return psprintf("Finalize %s", name);
  return name;
}

static const char* modify_name(const ModifyTable* node) {
  switch (node->operation) {
    case CMD_INSERT:
      return "Insert";
    case CMD_UPDATE:
      return "Update";
    case CMD_DELETE:
      return "Delete";
    case CMD_MERGE:
      return "Merge";
    default:
      return "ModifyTable";
  }
}

static const char* foreign_name(const ForeignScan* node) {
  switch (node->operation) {
    case CMD_INSERT:
      return "Foreign Insert";
    case CMD_UPDATE:
      return "Foreign Update";
    case CMD_DELETE:
      return "Foreign Delete";
    default:
      return "Foreign Scan";
  }
}

static const char* setop_name(const SetOp* node) {
  static const char* const kCommands[] = {"Intersect", "Intersect All", "Except", "Except All"};
  return psprintf("%s %s", node->strategy == SETOP_HASHED ? "HashSetOp" : "SetOp", kCommands[node->cmd]);
}

static const char* plain_name(NodeTag tag) {
  static const struct {
    NodeTag tag;
    const char* name;
  } kNames[] = {
      {T_Result, "Result"},
      {T_ProjectSet, "ProjectSet"},
      {T_Append, "Append"},
      {T_MergeAppend, "Merge Append"},
      {T_RecursiveUnion, "Recursive Union"},
      {T_BitmapAnd, "BitmapAnd"},
      {T_BitmapOr, "BitmapOr"},
      {T_SeqScan, "Seq Scan"},
      {T_SampleScan, "Sample Scan"},
      {T_IndexScan, "Index Scan"},
      {T_IndexOnlyScan, "Index Only Scan"},
      {T_BitmapIndexScan, "Bitmap Index Scan"},
      {T_BitmapHeapScan, "Bitmap Heap Scan"},
      {T_TidScan, "Tid Scan"},
      {T_TidRangeScan, "Tid Range Scan"},
      {T_SubqueryScan, "Subquery Scan"},
      {T_FunctionScan, "Function Scan"},
      {T_ValuesScan, "Values Scan"},
      {T_TableFuncScan, "Table Function Scan"},
      {T_CteScan, "CTE Scan"},
      {T_NamedTuplestoreScan, "Named Tuplestore Scan"},
      {T_WorkTableScan, "WorkTable Scan"},
      {T_Material, "Materialize"},
      {T_Memoize, "Memoize"},
      {T_Sort, "Sort"},
      {T_IncrementalSort, "Incremental Sort"},
      {T_Group, "Group"},
      {T_WindowAgg, "WindowAgg"},
      {T_Unique, "Unique"},
      {T_Gather, "Gather"},
      {T_GatherMerge, "Gather Merge"},
      {T_Hash, "Hash"},
      {T_LockRows, "LockRows"},
      {T_Limit, "Limit"},
  };
  for (int i = 0; i < lengthof(kNames); i++) {
    if (kNames[i].tag == tag) return kNames[i].name;
  }
  return "???";
}

static const char* own_name(PlanState* node) {
  Plan* plan = node->plan;
  switch (nodeTag(plan)) {
    case T_NestLoop:
      return join_name(node, "Nested Loop", "Nested Loop");
    case T_MergeJoin:
      return join_name(node, "Merge Join", "Merge");
    case T_HashJoin:
      return join_name(node, "Hash Join", "Hash");
    case T_Agg:
      return agg_name((Agg*)plan);
    case T_ModifyTable:
      return modify_name((ModifyTable*)plan);
    case T_ForeignScan:
      return foreign_name((ForeignScan*)plan);
    case T_SetOp:
      return setop_name((SetOp*)plan);
    case T_CustomScan:
      return psprintf("Custom Scan (%s)", ((CustomScan*)plan)->methods->CustomName);
    default:
      return plain_name(nodeTag(plan));
  }
}

const char* tailor_node_kind(PlanState* node) {
  return IsA(node->plan, CustomScan) ? "Custom Scan" : own_name(node);
}

Oid tailor_index_of(PlanState* node) {
  switch (nodeTag(node->plan)) {
    case T_IndexScan:
      return ((IndexScan*)node->plan)->indexid;
    case T_IndexOnlyScan:
      return ((IndexOnlyScan*)node->plan)->indexid;
    case T_BitmapIndexScan:
      return ((BitmapIndexScan*)node->plan)->indexid;
    default:
      return InvalidOid;
  }
}

static void add_index(Oid index, const char* word, ScanDirection direction, StringInfo out) {
  const char* name = get_rel_name(index);
  if (ScanDirectionIsBackward(direction)) appendStringInfoString(out, " Backward");
  if (name) appendStringInfo(out, " %s %s", word, quote_identifier(name));
}

static void add_indexes(Plan* plan, StringInfo out) {
  switch (nodeTag(plan)) {
    case T_IndexScan:
      return add_index(((IndexScan*)plan)->indexid, "using", ((IndexScan*)plan)->indexorderdir, out);
    case T_IndexOnlyScan:
      return add_index(((IndexOnlyScan*)plan)->indexid, "using", ((IndexOnlyScan*)plan)->indexorderdir, out);
    case T_BitmapIndexScan:
      return add_index(((BitmapIndexScan*)plan)->indexid, "on", ForwardScanDirection, out);
    default:
      return;
  }
}

/* The table that a node reads or changes, as an index into the range table; 0: none. */
static Index target_of(Plan* plan) {
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
    case T_SubqueryScan:
    case T_FunctionScan:
    case T_TableFuncScan:
    case T_ValuesScan:
    case T_CteScan:
    case T_NamedTuplestoreScan:
    case T_WorkTableScan:
      return ((Scan*)plan)->scanrelid;
    case T_ModifyTable:
      return ((ModifyTable*)plan)->nominalRelation;
    default:
      return 0;
  }
}

static const char* name_of_target(RangeTblEntry* entry) {
  switch (entry->rtekind) {
    case RTE_RELATION:
      return get_rel_name(entry->relid);
    case RTE_CTE:
      return entry->ctename;
    case RTE_NAMEDTUPLESTORE:
      return entry->enrname;
    case RTE_FUNCTION:
      if (list_length(entry->functions) == 1) {
        Node* call = ((RangeTblFunction*)linitial(entry->functions))->funcexpr;
        if (IsA(call, FuncExpr)) return get_func_name(((FuncExpr*)call)->funcid);
      }
      return NULL;
    default:
      return NULL;
  }
}

static RangeTblEntry* entry_of(Index index, PlanState* node) {
  if (index == 0 || index > list_length(node->state->es_range_table)) return NULL;
  return exec_rt_fetch(index, node->state);
}

Oid tailor_relation_of(PlanState* node) {
  /* EXPLAIN calls it by its index, but it reads for a table. */
  Index index = IsA(node->plan, BitmapIndexScan) ? ((Scan*)node->plan)->scanrelid : target_of(node->plan);
  RangeTblEntry* entry = entry_of(index, node);
  return entry && entry->rtekind == RTE_RELATION ? entry->relid : InvalidOid;
}

void tailor_node_name(PlanState* node, StringInfo out) {
  Plan* plan = node->plan;
  if (plan->parallel_aware) appendStringInfoString(out, "Parallel ");
  if (plan->async_capable) appendStringInfoString(out, "Async ");
  appendStringInfoString(out, own_name(node));
  add_indexes(plan, out);
  RangeTblEntry* entry = entry_of(target_of(plan), node);
  if (!entry) return;
  const char* name = name_of_target(entry);
  const char* alias = entry->eref ? entry->eref->aliasname : NULL;
  if (!name && !alias) return;
  /* As EXPLAIN quotes them. So a number in a name is no literal for who looks for literals. */
  appendStringInfo(out, " on %s", quote_identifier(name ? name : alias));
  if (name && alias && strcmp(name, alias) != 0) appendStringInfo(out, " %s", quote_identifier(alias));
}
