/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a query as objects: every function of a node has the node as its first argument, so a call
 * stack says which node works. tailord reads the table with a sample where the slot names no node: in
 * executions without wrappers, and below those that have no wrapper of their own.
 */
#include "postgres.h"

#include "objects.h"

#include "executor/executor.h"

#include "tailor/thread_area.h"

#include "query.h"

/* Most plans have no more nodes than these. Their table needs no memory of its own. */
#define FEW 24

typedef struct {
  struct tailor_objects head;
  uint64_t object[FEW];
} Few;

StaticAssertDecl(sizeof(struct tailor_objects) == sizeof(uint64_t), "addresses follow the head at once");

struct tailor_objects* tailor_objects_new(TailorQuery* open, bool is_only) {
  static Few few;
  uint32_t count = Min((uint32_t)open->plan->node_ids, TAILOR_OBJECTS_MAX);
  struct tailor_objects* objects =
      is_only && count <= FEW ? &few.head : palloc(sizeof(*objects) + count * sizeof(uint64_t));
  objects->count = count;
  objects->method = offsetof(PlanState, ExecProcNode);
  memset(objects + 1, 0, count * sizeof(uint64_t));
  return objects;
}

/* Nodes that the server never calls as it calls all others: no wrapper names them. */
bool tailor_is_hidden(PlanState* node) {
  return IsA(node, BitmapIndexScanState) || IsA(node, BitmapAndState) || IsA(node, BitmapOrState);
}

void tailor_object_set(struct tailor_objects* objects, PlanState* node) {
  uint32_t place = (uint32_t)node->plan->plan_node_id;
  uint64_t* object = (uint64_t*)(objects + 1);
#ifdef TAILOR_TWIN_WRONG_OBJECTS
  place ^= 1;
#endif
  if (place < objects->count)
    object[place] = (uint64_t)(uintptr_t)node | (tailor_is_hidden(node) ? TAILOR_OBJECT_HIDDEN : 0);
}
