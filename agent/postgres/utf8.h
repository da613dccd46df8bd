/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the server in the encoding of the messages to the daemon, and back. */
#ifndef TAILOR_PG_UTF8_H
#define TAILOR_PG_UTF8_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* A text in the database's encoding, or a copy of it in UTF-8 in the current memory context. */
const char* tailor_utf8(const char* text);
/* The same for names of databases and users: all databases of a server see the bytes that one of them wrote.
 */
const char* tailor_shared_utf8(const char* name);
/* What the daemon says, in the database's encoding: the text itself, or a copy in the current memory context.
 * Bytes that are no UTF-8 raise an error where the database is in UTF-8. In a transaction. */
char* tailor_from_utf8(char* text, int length);

#pragma GCC visibility pop

#endif
