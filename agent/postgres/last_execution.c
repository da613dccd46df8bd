/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tailor_last_execution(): what `tailor report` is to be asked for. tailor_last_plan(): its plan.
 * history.c asks tailord what it knows of it.
 *
 * A statement may run as another user than the one who asks: that is how procedures with SECURITY DEFINER
 * work. Then the plan and its rows are of tables that the one who asks may not read.
 */
#include "postgres.h"

#include "last_execution.h"

#include "catalog/pg_authid.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "plan.h"

static uint64_t last = 0;
static TailorPlan* plan_of_last = NULL;
static Oid user_of_last = InvalidOid;

void tailor_remember_run(uint64_t run, TailorPlan* plan) {
  last = run;
  plan_of_last = plan;
  user_of_last = plan->user;
}

void tailor_remember_command(uint64_t run, Oid user) {
  last = run;
  plan_of_last = NULL;
  user_of_last = user;
}

void tailor_forget_run(void) {
  last = 0;
  plan_of_last = NULL;
}

void tailor_forget_plan(const TailorPlan* plan) {
  if (plan_of_last == plan) plan_of_last = NULL;
}

void tailor_run_name(uint64_t run, char out[33]) {
  uint8_t id[16];
  tailor_execution_id(run, id);
  for (int i = 0; i < 16; i++) snprintf(out + 2 * i, 3, "%02x", id[i]);
}

/* The server shows the statements of others to the same users. */
static bool may_see_last(void) {
  if (GetUserId() == user_of_last || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS)) return true;
  ereport(NOTICE, (errmsg("the last execution ran as another user, and is not shown"),
                   errdetail("What Tailor keeps of it is shown to that user, to superusers and to members "
                             "of pg_read_all_stats.")));
  return false;
}

uint64_t tailor_last_run(TailorPlan** plan) {
  if (last == 0 || !may_see_last()) return 0;
  *plan = plan_of_last;
  return last;
}

PG_FUNCTION_INFO_V1(tailor_pg_last_execution);
extern PGDLLEXPORT Datum tailor_pg_last_execution(PG_FUNCTION_ARGS);

Datum tailor_pg_last_execution(PG_FUNCTION_ARGS) {
  char name[33];
  if (last == 0 || !may_see_last()) PG_RETURN_NULL();
  tailor_run_name(last, name);
  PG_RETURN_TEXT_P(cstring_to_text(name));
}

PG_FUNCTION_INFO_V1(tailor_pg_last_plan);
extern PGDLLEXPORT Datum tailor_pg_last_plan(PG_FUNCTION_ARGS);

Datum tailor_pg_last_plan(PG_FUNCTION_ARGS) {
  char name[33];
  if (last == 0 || !may_see_last() || !plan_of_last || !plan_of_last->text) PG_RETURN_NULL();
  tailor_run_name(last, name);
  PG_RETURN_TEXT_P(cstring_to_text(psprintf("tailor report %s\n%s", name, plan_of_last->text)));
}
