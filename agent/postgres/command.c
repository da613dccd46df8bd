/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CREATE INDEX, VACUUM, ANALYZE, COPY and others work on tables without a query. Each is a plan of one node,
 * and an execution. Commands that run a query, such as CREATE TABLE AS, have the execution of that query.
 *
 * Commands may be short and many, for example COPY of one row. Telling one costs four messages, so the time
 * of the next one is chosen such that this stays a small part of the session's time. Commands before that are
 * in the phase of utility commands.
 */
#include "postgres.h"

#include "command.h"

#include <x86intrin.h>

#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tailor/agent.h"
#include "tailor/dictionary.h"
#include "tailor/tag.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "describe.h"
#include "last_execution.h"
#include "phases.h"
#include "runs.h"
#include "session.h"
#include "utf8.h"

/* Beginning takes about half of what telling costs. With this, all of it is a hundredth of the time. */
#define TELLING_PART 200

/* The one that is between begin and end; run 0: none is. */
static struct {
  uint64_t run, plan;
  Oid user; /* who runs it */
} running = {0, 0, InvalidOid};

static bool works_by_itself(const Node* command) {
  switch (nodeTag(command)) {
    case T_IndexStmt:
    case T_VacuumStmt:
    case T_ReindexStmt:
    case T_AlterTableStmt:
#if PG_VERSION_NUM < 190000
    case T_ClusterStmt:
#endif
      return true;
    case T_CopyStmt:
      return ((const CopyStmt*)command)->relation != NULL; /* else it copies what a query gives */
    default:
      return false;
  }
}

/* The table or index that a command works on. NULL: none, or all that there are. `more`: and others. */
static const RangeVar* target_of_command(const Node* command, bool* more) {
  *more = false;
  switch (nodeTag(command)) {
    case T_IndexStmt:
      return ((const IndexStmt*)command)->relation;
    case T_ReindexStmt:
      return ((const ReindexStmt*)command)->relation;
    case T_AlterTableStmt:
      return ((const AlterTableStmt*)command)->relation;
    case T_CopyStmt:
      return ((const CopyStmt*)command)->relation;
#if PG_VERSION_NUM < 190000
    case T_ClusterStmt:
      return ((const ClusterStmt*)command)->relation;
#endif
    case T_VacuumStmt: {
      const List* relations = ((const VacuumStmt*)command)->rels;
      if (relations == NIL) return NULL;
      *more = list_length(relations) > 1;
      return ((const VacuumRelation*)linitial(relations))->relation;
    }
    default:
      return NULL;
  }
}

/* The relation of that name. The server's own search raises an error where the user may not use the schema,
 * which is for the command to say. */
static Oid relation_of(const RangeVar* target) {
  if (!target || !target->relname || target->catalogname) return InvalidOid;
  if (!target->schemaname) return RelnameGetRelid(target->relname);
  Oid schema = get_namespace_oid(target->schemaname, true);
  return OidIsValid(schema) ? get_relname_relid(target->relname, schema) : InvalidOid;
}

static bool is_index(Oid relation) {
  char kind = get_rel_relkind(relation);
  return kind == RELKIND_INDEX || kind == RELKIND_PARTITIONED_INDEX;
}

/* Of several nobody knows here which one has how much of the time. */
static void tell_target(const TailorPlace* place, const Node* command) {
  bool more = false;
  Oid relation = relation_of(target_of_command(command, &more));
  if (!OidIsValid(relation) || more) return;
  if (is_index(relation))
    tailor_tell_relation(place, IndexGetRelation(relation, true), relation);
  else
    tailor_tell_relation(place, relation, InvalidOid);
}

/* "CREATE INDEX on t", "COPY into t". */
static const char* name_of_command(Node* command) {
  StringInfoData name;
  bool more = false;
  const RangeVar* target = target_of_command(command, &more);
  const char* word = "on";
  if (IsA(command, CopyStmt)) word = ((CopyStmt*)command)->is_from ? "into" : "from";
  initStringInfo(&name);
  appendStringInfoString(&name, CreateCommandName(command));
  if (target && target->relname) {
    appendStringInfo(&name, " %s ", word);
    if (target->schemaname) appendStringInfo(&name, "%s.", quote_identifier(target->schemaname));
    appendStringInfoString(&name, quote_identifier(target->relname));
  }
  if (more) appendStringInfoString(&name, " and others");
  return name.data;
}

/* Loads the plan of the command. The tag of its node, TAILOR_TAG_NONE: the agent refused. */
static uint64_t load_plan_of(const TailorUtility* utility, const TailorPiece* piece,
                             const struct tailor_plan_ids* ids) {
  Node* command = utility->statement->utilityStmt;
  const char* text = tailor_told_text(piece);
  struct tailor_plan_builder* builder =
      tailor_plan_builder_new(tailor_told_name(text, (uint64)utility->statement->queryId));
  int32_t level = tailor_plan_builder_add_level(builder, "operator");
  uint32_t node = tailor_plan_builder_add_component(builder, level, tailor_utf8(name_of_command(command)),
                                                    CreateCommandName(command));
  const TailorPlace place = {builder, level, node};
  tell_target(&place, command);
  if (text) tailor_plan_builder_attach(builder, "sql", text, strlen(text));
  int error = tailor_plan_builder_load(builder, ids->id);
  tailor_plan_builder_free(builder);
  return error == 0 ? tailor_tag(ids, node, 0) : TAILOR_TAG_NONE;
}

static bool tell_command(const TailorUtility* utility) {
  struct tailor_plan_ids ids = tailor_plan_new();
  if (ids.id == 0) return false;
  TailorPiece piece = tailor_piece_of_utility(utility);
  uint64_t tag = load_plan_of(utility, &piece, &ids);
  uint64_t run = tag == TAILOR_TAG_NONE
                     ? 0
                     : tailor_command_run_begin(ids.id, (uint64)utility->statement->queryId, &piece);
  if (run == 0) {
    tailor_plan_unload(ids.id);
    return false;
  }
  running.run = run;
  running.plan = ids.id;
  running.user = GetUserId();
  tailor_mark_execution_begin(run, ids.id);
  tailor_utility_is(tag);
  return true;
}

bool tailor_command_begin(const TailorUtility* utility) {
  static uint64 next = 0; /* TSC */
  uint64 begin = __rdtsc();
  if (running.run != 0 || begin < next || !works_by_itself(utility->statement->utilityStmt)) return false;
  if (!IsTransactionState()) return false;
  bool told = tell_command(utility);
  uint64 end = __rdtsc();
  if (end > begin) next = end + (end - begin) * TELLING_PART;
  return told;
}

void tailor_command_end(uint64 rows, bool failed) {
  tailor_mark_execution_end(running.run);
  tailor_execution_end(running.run, rows, failed ? "ended by an error" : NULL);
  tailor_plan_unload(running.plan);
  tailor_remember_command(running.run, running.user);
  running.run = 0;
  tailor_session_pump();
}

bool tailor_command_runs(void) {
  return running.run != 0;
}
