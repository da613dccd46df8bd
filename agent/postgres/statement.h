/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a statement, with and without its literals. */
#ifndef TAILOR_PG_STATEMENT_H
#define TAILOR_PG_STATEMENT_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "lib/stringinfo.h"
#include "nodes/plannodes.h"

#pragma GCC visibility push(hidden)

/* The part of a message that is one statement. It lies in the query's source text. */
typedef struct {
  const char* text; /* NULL: there is none */
  int length;       /* below 0: to the end of the message */
} TailorPiece;

TailorPiece tailor_piece_of(const QueryDesc* query);

/* A utility command that runs, with the message it came in. */
typedef struct {
  const PlannedStmt* statement;
  const char* text;
} TailorUtility;

TailorPiece tailor_piece_of_utility(const TailorUtility* utility);

/* The innermost one; NULL: none. */
extern const TailorUtility* tailor_utility;

/* Puts the text of the statement, as tailor.query_text says, into `out`, which is empty. False: none. */
bool tailor_statement_text(const TailorPiece* piece, StringInfo out);
/* The same with every literal replaced by '?' and comments left out. It ends in " ..." if it was cut. */
void tailor_without_literals(const TailorPiece* piece, StringInfo out);
/* Of the text without literals. */
uint64 tailor_statement_hash(const TailorPiece* piece);
/* A number for the first word: SELECT, EXPLAIN. */
uint64 tailor_first_word(const TailorPiece* piece);

#pragma GCC visibility pop

#endif
