/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tailor_pg: says to Tailor which plan node each backend of a PostgreSQL server works for. Each file has a
 * header of its own, and uses only files below it:
 *
 *   hooks.c      where the server calls us
 *   history.c    what SQL asks tailord: its rights, and its questions; ask.c one question
 *   plans.c      the plans this backend has told about, by (query id, hash of the plan)
 *   shape.c      what tells plans of one statement apart
 *   runs.c       executions and their labels; last_execution.c what a session is told of its last statement
 *   command.c    utility commands that work on tables by themselves
 *   wrap.c       the wrappers around ExecProcNode that keep the slot; stubs.c their short form
 *   describe.c   a plan as a dictionary; shown_plan.c as text, for tailor_last_plan()
 *   conditions.c the conditions of nodes
 *   overhead.c   what the wrappers of a plan cost, and whether they are worth it
 *   open_queries.c  the queries that are measured, by their state (query.h)
 *   objects.c    the nodes of a query as objects that call stacks show
 *   walk.c       the nodes of a query, one after the other; node_names.c as EXPLAIN calls them
 *   session.c    the agent of this backend: start, pump
 *   phases.c     what the backend does where no node runs
 *   waits.c      what this backend waits for, and what the server calls it
 *   locks.c      a process that looks who holds the locks that backends wait for
 *   trace.c      the trace that a statement belongs to; statement.c its text without its literals
 *   leader.c     what parallel workers know of their leader
 *   slot.c       the slot, and the tags of the plan that runs
 *   ticks.c      the rate of the TSC
 *   settings.c   the settings tailor.*
 *   utf8.c       texts of the server in the encoding of Tailor's messages, and back
 *
 * A backend is one thread, so nothing here locks. Nothing here may wait or fail, but for what a statement
 * asks by itself (history.c): where the agent cannot be had, or no daemon listens, queries run as if the
 * extension were not loaded.
 *
 * PostgreSQL 15 marks what a library exports with nothing, so our headers say what is ours alone.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "hooks.h"
#include "locks.h"
#include "settings.h"
#include "waits.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
  tailor_define_settings();
  if (process_shared_preload_libraries_in_progress) {
    tailor_learn_waits();
    tailor_register_lock_watch();
  }
  tailor_install_hooks();
}
