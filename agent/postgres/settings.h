/* SPDX-License-Identifier: Apache-2.0 */
/* The settings tailor.*, as the server knows them now. */
#ifndef TAILOR_PG_SETTINGS_H
#define TAILOR_PG_SETTINGS_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

typedef enum { TAILOR_TEXT_OFF, TAILOR_TEXT_NORMALIZED, TAILOR_TEXT_FULL } TailorText;

extern bool tailor_enabled;
extern bool tailor_nested_statements;
extern bool tailor_phases;
extern int tailor_rows_every;       /* one of this many executions counts its actual rows; 0: none */
extern double tailor_most_overhead; /* %: of a plan's time, by its wrappers */
extern int tailor_short_run_ms;     /* runs of a plan that took less share one execution */
extern int tailor_query_text;       /* TailorText */
extern bool tailor_conditions;      /* conditions of nodes are told */
extern char* tailor_socket;
extern bool tailor_watch_locks;  /* when the server starts, a process that looks who holds locks */
extern char* tailor_http_socket; /* where SQL functions ask tailord */
extern char* tailor_leader;      /* TailorLeader as text, for workers */

void tailor_define_settings(void);

#pragma GCC visibility pop

#endif
