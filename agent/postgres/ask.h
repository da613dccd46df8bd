/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to tailord, for SQL. */
#ifndef TAILOR_PG_ASK_H
#define TAILOR_PG_ASK_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* What tailord answers to GET `path`, as text in the encoding of the database, in the current memory context.
 * NULL: it knows no such thing. Raises an error that says what to do where no daemon answers, and where it
 * refuses. Waits some seconds at most, and can be cancelled. */
char* tailor_ask(const char* path);
/* Asks again and again, until the answer has this text in it, for `patience_ms` at most. */
void tailor_ask_until(const char* path, const char* expected, int patience_ms);

#pragma GCC visibility pop

#endif
