/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the server in the encoding of the messages to the daemon. */
#ifndef TAILOR_PG_UTF8_H
#define TAILOR_PG_UTF8_H

#include "postgres.h"

#pragma GCC visibility push(hidden)

/* A text in the database's encoding, or a copy of it in UTF-8 in the current memory context. */
const char* tailor_utf8(const char* text);
/* The same for names of databases and users: all databases of a server see the bytes that one of them wrote.
 */
const char* tailor_shared_utf8(const char* name);

#pragma GCC visibility pop

#endif
