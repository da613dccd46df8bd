/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "walk.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

typedef struct {
  TailorVisit visit;
  void* context;
  PlanState* parent;
} Walk;

/* The scans that most short statements are. */
static bool has_nothing_below(const PlanState* node) {
  bool plain = IsA(node, IndexScanState) || IsA(node, IndexOnlyScanState) || IsA(node, SeqScanState);
  return plain && !node->lefttree && !node->righttree && !node->initPlan && !node->subPlan;
}

static bool walk_node(PlanState* node, void* argument) {
  Walk* walk = argument;
  Walk below = {walk->visit, walk->context, node};
  if (!node) return false;
  walk->visit(node, walk->parent, walk->context);
  if (has_nothing_below(node)) return false;
  return planstate_tree_walker(node, walk_node, &below);
}

void tailor_walk(QueryDesc* query, TailorVisit visit, void* context) {
  Walk walk = {visit, context, NULL};
  walk_node(query->planstate, &walk);
}

SubPlan* tailor_subplan(PlanState* node, PlanState* parent) {
  List* lists[] = {parent->initPlan, parent->subPlan};
  for (int i = 0; i < lengthof(lists); i++) {
    ListCell* cell;
    foreach (cell, lists[i]) {
      SubPlanState* sub = lfirst_node(SubPlanState, cell);
      if (sub->planstate == node) return sub->subplan;
    }
  }
  return NULL;
}

const char* tailor_subplan_name(PlanState* node, PlanState* parent) {
  const SubPlan* subplan = tailor_subplan(node, parent);
  return subplan ? subplan->plan_name : NULL;
}
