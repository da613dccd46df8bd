/* SPDX-License-Identifier: Apache-2.0 */
/* The settings tailor.*, with their meanings in words. */
#include "postgres.h"

#include "settings.h"

#include <limits.h>

#include "utils/guc.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"
#else
#include "utils/queryjumble.h"
#endif

#include "parts.h"

bool tailor_enabled = true;
bool tailor_nested_statements = false;
bool tailor_phases = true;
int tailor_rows_every = 100;
double tailor_most_overhead = 2;
int tailor_short_run_ms = 10;
int tailor_query_text = TAILOR_TEXT_NORMALIZED;
bool tailor_watch_locks = false;
bool tailor_conditions = false;
char* tailor_socket = NULL;
char* tailor_http_socket = NULL;
char* tailor_leader = NULL;

static const struct config_enum_entry kTexts[] = {{"off", TAILOR_TEXT_OFF, false},
                                                  {"normalized", TAILOR_TEXT_NORMALIZED, false},
                                                  {"full", TAILOR_TEXT_FULL, false},
                                                  {NULL, 0, false}};

/* Until then a setting has its default, and what the configuration says comes after it. */
static bool defined = false;

/* Query ids cost time, so the server computes them in sessions only that were measured once. It has no way to
 * end that: another extension may have asked for them too. */
static void assign_enabled(bool enabled, void* extra) {
  if (defined && enabled) EnableQueryId();
}

static void define_what_is_measured(void) {
  DefineCustomBoolVariable("tailor.enabled", "Tells Tailor which plan node this backend works for.",
                           "While it is off, queries run as if the extension were not loaded.",
                           &tailor_enabled, true, PGC_SUSET, 0, NULL, assign_enabled, NULL);
  DefineCustomBoolVariable("tailor.nested_statements",
                           "Measures statements that functions run while an operator calls them.",
                           "While it is off, their time belongs to the operator that called the function.",
                           &tailor_nested_statements, false, PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomBoolVariable("tailor.phases", "Shows planning, start, end and commit on their own.",
                           "While it is off, this time is shown as the session's.", &tailor_phases, true,
                           PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomIntVariable(
      "tailor.rows_every", "N: one of N executions, drawn at random, counts its actual rows.",
      "0 draws none. Once for each plan they are counted to know what wrappers cost. Telling "
      "the numbers takes at most 0.1 % of a session's time, unless this is 1.",
      &tailor_rows_every, 100, 0, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomRealVariable(
      "tailor.most_overhead", "Wrappers of nodes take at most this percentage of a plan's time.",
      "Of a plan that takes more, only some executions are wrapped, and call stacks tell the nodes of the "
      "others. 100: all are wrapped; 0: none is.",
      &tailor_most_overhead, 2, 0, 100, PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomIntVariable("tailor.short_run",
                          "Runs of a plan that take less time on average share one execution.",
                          "A run by itself costs two messages to the daemon. 0 gives every run its own.",
                          &tailor_short_run_ms, 10, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
}

void tailor_define_settings(void) {
  define_what_is_measured();
  DefineCustomEnumVariable(
      "tailor.query_text", "Which text of a statement Tailor is told.",
      "\"off\": none; \"normalized\": without literals and comments; \"full\": all of it.",
      &tailor_query_text, TAILOR_TEXT_NORMALIZED, kTexts, PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomBoolVariable("tailor.watch_locks",
                           "Starts a process that tells Tailor who holds the locks that backends wait for.",
                           "It counts when the server starts, and only in shared_preload_libraries.",
                           &tailor_watch_locks, false, PGC_SIGHUP, 0, NULL, NULL, NULL);
  DefineCustomBoolVariable("tailor.conditions", "Tells the conditions of nodes, as EXPLAIN prints them.",
                           "Their literals are treated as those of statements: see tailor.query_text.",
                           &tailor_conditions, false, PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomStringVariable(
      "tailor.socket", "The socket on which tailord listens for engines.",
      "Empty: TAILOR_SOCKET in the server's environment, else /run/tailor/agent.sock. It "
      "counts until the session's first measured statement.",
      &tailor_socket, "", PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomStringVariable(
      "tailor.http_socket", "The UNIX socket of tailord's HTTP interface, which tailor_top() and others ask.",
      "Empty: /run/tailor/http.sock.", &tailor_http_socket, "", PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomStringVariable(
      "tailor.leader", "The execution that a parallel worker works for.",
      "The leader sets it. Others have no use for it.", &tailor_leader, "", PGC_USERSET,
      GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE | GUC_NO_RESET_ALL, NULL, NULL, NULL);
  tailor_define_parts();
  MarkGUCPrefixReserved("tailor");
  defined = true;
  assign_enabled(tailor_enabled, NULL);
}
