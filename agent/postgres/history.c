/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tailor_answer(): what tailord keeps of this server's statements, for the functions and views of SQL
 * (tailor_pg--1.0--1.1.sql). It is of all sessions, so those may ask who see the statements of others in
 * pg_stat_activity, too. Paths are made here, so that nobody asks the daemon for anything else.
 *
 * tailor_last_answer(): what tailord keeps of the session's last statement, for the user whom it ran as.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "ask.h"
#include "last_execution.h"
#include "plan.h"
#include "runs.h"
#include "session.h"
#include "utf8.h"

#define HEX_DIGITS "0123456789abcdef"
/* Of the id of an execution; a query's has half of them. */
#define MOST_DIGITS 32
/* How long to wait for what the daemon writes down of the last execution. */
#define WRITTEN_MS 5000

static void check_rights(void) {
  if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS)) return;
  ereport(ERROR,
          (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
           errmsg("what Tailor keeps of all sessions is shown to members of pg_read_all_stats only"),
           errhint("tailor_last_execution() and tailor_last_plan() show you your own last statement.")));
}

/* Longer than what tailord keeps of anything. */
#define MOST_SECONDS (INT64CONST(10) * 366 * 86400)

/* The name of this database as the label "database" has it (runs.c), in the form that addresses have. */
static const char* database_in_address(void) {
  StringInfoData out;
  const char* name = get_database_name(MyDatabaseId);
  initStringInfo(&out);
  for (const char* at = name ? tailor_shared_utf8(name) : ""; *at; at++) {
    if (isalnum((unsigned char)*at) && !IS_HIGHBIT_SET(*at))
      appendStringInfoChar(&out, *at);
    else
      appendStringInfo(&out, "%%%02X", (unsigned char)*at);
  }
  return out.data;
}

static const char* path_of(const char* what, const char* id, int64 seconds, int32 rows) {
  if (seconds < 1 || seconds > MOST_SECONDS)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the time to look back is from a second to ten years")));
  if (strlen(id) > MOST_DIGITS || id[strspn(id, HEX_DIGITS)] != '\0')
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("an execution is named by at most %d hexadecimal digits in lower case, as "
                           "tailor_executions() has them",
                           MOST_DIGITS)));
  if (strcmp(what, "top") == 0)
    return psprintf("/api/v1/fingerprints?since=-" INT64_FORMAT "s&limit=%d&order=cpu", seconds, rows);
  if (strcmp(what, "executions") == 0)
    return psprintf("/api/v1/executions?since=-" INT64_FORMAT "s&limit=%d&process_name=PostgreSQL", seconds,
                    rows);
  if (strcmp(what, "changes") == 0)
    return psprintf("/api/v1/plan-changes?since=-" INT64_FORMAT "s&limit=%d&process_name=PostgreSQL", seconds,
                    rows);
  if (strcmp(what, "tables") == 0)
    return psprintf("/api/v1/executions/all/profile?since=-" INT64_FORMAT
                    "s&process_name=PostgreSQL&label=database=%s",
                    seconds, database_in_address());
  if (strcmp(what, "query") == 0)
    return psprintf("/api/v1/fingerprints/%s?since=-" INT64_FORMAT "s", id, seconds);
  if (strcmp(what, "execution") == 0) return psprintf("/api/v1/executions/%s/profile", id);
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("tailor_answer() knows \"top\", \"executions\", \"changes\", \"tables\", \"query\" "
                         "and \"execution\", not \"%s\"",
                         what)));
}

/* A program whose names hold the character 0 is no reason to show nothing of all others: jsonb does not take
 * it, so it becomes '?'. */
static void replace_zeros(char* json) {
  static const char kZero[] = "u0000", kQuestionMark[] = "u003f";
  for (char* at = json; (at = strchr(at, '\\')) != NULL && at[1] != '\0'; at += 2) {
    if (strncmp(at + 1, kZero, strlen(kZero)) == 0) memcpy(at + 1, kQuestionMark, strlen(kQuestionMark));
  }
}

static Datum answer_to(const char* path, FunctionCallInfo fcinfo) {
  char* answer = tailor_ask(path);
  if (!answer) PG_RETURN_NULL();
  replace_zeros(answer);
  PG_RETURN_TEXT_P(cstring_to_text(answer));
}

PG_FUNCTION_INFO_V1(tailor_pg_answer);
extern PGDLLEXPORT Datum tailor_pg_answer(PG_FUNCTION_ARGS);

/* (what text, id text, seconds bigint, rows integer) returns text: JSON; NULL: there is no such thing. */
Datum tailor_pg_answer(PG_FUNCTION_ARGS) {
  check_rights();
  return answer_to(path_of(text_to_cstring(PG_GETARG_TEXT_PP(0)), text_to_cstring(PG_GETARG_TEXT_PP(1)),
                           PG_GETARG_INT64(2), PG_GETARG_INT32(3)),
                   fcinfo);
}

/* What short runs share would go on, and then the daemon waits for more of it. A run that is open would not
 * be in the sum. */
static void end_if_shared(uint64_t run, TailorPlan* plan) {
  if (!plan || plan->shared_run != run || plan->users > 0) return;
  tailor_shared_run_end(plan);
  tailor_session_pump();
}

PG_FUNCTION_INFO_V1(tailor_pg_last_answer);
extern PGDLLEXPORT Datum tailor_pg_last_answer(PG_FUNCTION_ARGS);

Datum tailor_pg_last_answer(PG_FUNCTION_ARGS) {
  char name[33];
  TailorPlan* plan = NULL;
  uint64_t run = tailor_last_run(&plan);
  if (run == 0) PG_RETURN_NULL();
  end_if_shared(run, plan);
  tailor_run_name(run, name);
  /* The daemon writes the end of an execution behind its samples. */
  tailor_ask_until(psprintf("/api/v1/executions/%s", name), "\"running\":false", WRITTEN_MS);
  return answer_to(psprintf("/api/v1/executions/%s/profile", name), fcinfo);
}
