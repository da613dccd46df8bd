/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "statement.h"

#include <ctype.h>

#include "common/hashfn.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "parser/scanner.h"
#include "utils/memutils.h"

#include "leader.h"
#include "settings.h"

#define DATE_BYTES 10
/* A longer text is cut. */
#define TEXT_BYTES 65536
/* Literals and comments take room in a statement but not in its text. So much of a statement is read. */
#define READ_BYTES (4 * TEXT_BYTES)
/* So much is looked through for a statement's first word. */
#define FIRST_WORD_BYTES 4096

/* Texts whose hashes are kept. */
#define RECENT_HASHES 64

const TailorUtility* tailor_utility = NULL;

/* ---- Which part of the message
 * ----------------------------------------------------------------------------- */

/* A query inside of a utility command says nothing of its place: it has the command's text. A query that was
 * stored says the length that it had in another text. */
static bool has_place(const PlannedStmt* statement) {
  return statement->stmt_location > 0 || (statement->stmt_location == 0 && statement->stmt_len > 0);
}

/* DECLARE CURSOR makes a copy of the text, which may be many megabytes long. What is read of this statement
 * is compared, with what comes before it: so its place is within the copy. */
static bool is_copy_for_cursor(const char* text) {
  const PlannedStmt* statement = tailor_utility->statement;
  if (!IsA(statement->utilityStmt, DeclareCursorStmt)) return false;
  size_t begin = (size_t)Max(statement->stmt_location, 0);
  return strncmp(text, tailor_utility->text, begin + READ_BYTES) == 0;
}

static bool has_text_of_utility(const char* text) {
  return tailor_utility && (text == tailor_utility->text || is_copy_for_cursor(text));
}

/* Whatever numbers the worker has been told, the piece is within the text. */
static TailorPiece piece_of_leader(const char* text, const TailorLeader* leader) {
  TailorPiece piece = {text + strnlen(text, (size_t)leader->begin), leader->length};
  if (piece.length > 0) piece.length = (int)strnlen(piece.text, (size_t)piece.length);
  return piece;
}

/* The part of a message that is this statement, without the white space in front of it. */
static TailorPiece piece_in(const char* text, const PlannedStmt* statement) {
  TailorPiece piece = {text, -1};
  if (has_place(statement)) {
    piece.text += statement->stmt_location;
    if (statement->stmt_len > 0) piece.length = statement->stmt_len;
  }
  while (piece.length != 0 && isspace((unsigned char)*piece.text)) {
    piece.text++;
    if (piece.length > 0) piece.length--;
  }
  return piece;
}

TailorPiece tailor_piece_of(const QueryDesc* query) {
  TailorLeader leader;
  const char* text = query->sourceText;
  if (!text) return (TailorPiece){NULL, -1};
  if (tailor_leader_of_worker(&leader)) return piece_of_leader(text, &leader);
  const PlannedStmt* statement = query->plannedstmt;
  if (!has_place(statement) && has_text_of_utility(text)) statement = tailor_utility->statement;
  return piece_in(text, statement);
}

TailorPiece tailor_piece_of_utility(const TailorUtility* utility) {
  return utility->text ? piece_in(utility->text, utility->statement) : (TailorPiece){NULL, -1};
}

/* How long it is, `limit` at most and no half character. */
static int length_up_to(const TailorPiece* piece, int limit) {
  int most = piece->length < 0 ? limit + 1 : Min(piece->length, limit + 1);
  int length = (int)strnlen(piece->text, (size_t)most);
  return length > limit ? pg_mbcliplen(piece->text, length, limit) : length;
}

static bool ends_at(const TailorPiece* piece, int length) {
  return piece->length == length || piece->text[length] == '\0';
}

/* ---- The first word
 * ---------------------------------------------------------------------------------------- */

/* Behind the comment that begins here. */
static const char* behind_comment(const char* at, const char* end) {
  if (at[0] == '-') {
    const char* line = memchr(at, '\n', (size_t)(end - at));
    return line ? line + 1 : end;
  }
  int depth = 0;
  while (end - at >= 2) {
    bool opens = at[0] == '/' && at[1] == '*', closes = at[0] == '*' && at[1] == '/';
    depth += opens - closes;
    at += opens || closes ? 2 : 1;
    if (depth == 0) return at;
  }
  return end;
}

uint64 tailor_first_word(const TailorPiece* piece) {
  if (!piece->text) return 0;
  size_t most = piece->length < 0 ? FIRST_WORD_BYTES : Min((size_t)piece->length, FIRST_WORD_BYTES);
  const char *at = piece->text, *end = at + strnlen(at, most);
  while (at < end && !isalpha((unsigned char)*at)) {
    bool comment = end - at >= 2 && (strncmp(at, "--", 2) == 0 || strncmp(at, "/*", 2) == 0);
    at = comment ? behind_comment(at, end) : at + 1;
  }
  uint64 word = 0;
  /* Words that differ at their begin are enough: no two commands share eight letters. */
  for (int i = 0; i < 8 && at < end && isalpha((unsigned char)*at); i++, at++)
    word = word << 8 | (uint64)tolower((unsigned char)*at);
  return word;
}

/* ---- Without literals
 * -------------------------------------------------------------------------------------- */

static bool starts_literal(const char* token) {
  switch (token[0]) {
    case '\'':
      return true;
    case '.':
      return isdigit((unsigned char)token[1]) != 0;
    case '$': /* $1 is a parameter, $$ and $tag$ begin a string */
      return !isdigit((unsigned char)token[1]);
    case 'b':
    case 'B':
    case 'e':
    case 'E':
    case 'n':
    case 'N':
    case 'x':
    case 'X':
      return token[1] == '\'';
    case 'u':
    case 'U':
      return token[1] == '&' && token[2] == '\'';
    default:
      return isdigit((unsigned char)token[0]) != 0;
  }
}

/* "2024-01-01" without quotes is a number less two others, and meant as a date. */
static bool is_date(const char* text) {
  static const char kShape[] = "0000-00-00";
  for (int i = 0; kShape[i]; i++) {
    if (kShape[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != kShape[i]) return false;
  }
  return !isalnum((unsigned char)text[strlen(kShape)]);
}

typedef struct {
  char* text;       /* what is read */
  volatile int end; /* of its last token; kept when an error jumps */
  StringInfo out;
} Tokens;

static void copy_tokens(Tokens* tokens) {
  core_yy_extra_type extra;
  core_YYSTYPE value;
  YYLTYPE at = 0;
  StringInfo out = tokens->out;
  core_yyscan_t scanner = scanner_init(tokens->text, &extra, &ScanKeywords, ScanKeywordTokens);
  while (out->len <= TEXT_BYTES && core_yylex(&value, &at, scanner) != 0) {
    if (at < tokens->end) continue; /* of a date */
    if (out->len > 0 && at > tokens->end) appendStringInfoChar(out, ' ');
    /* The scanner has ended its copy of the text behind the token. */
    const char* token = tokens->text + at;
    int length = is_date(token) ? DATE_BYTES : (int)strlen(extra.scanbuf + at);
    if (starts_literal(token))
      appendStringInfoChar(out, '?');
    else
      appendBinaryStringInfo(out, token, length);
    tokens->end = at + length;
  }
  scanner_finish(scanner);
}

/* The scanner met an error. A text that was cut may end inside of a literal or a comment: what comes before
 * it is right. But with a backslash, a text that was parsed under other settings has other literals. Then no
 * text is better than a piece of a literal. */
static void judge_error(Tokens* tokens, bool is_cut) {
  if (!is_cut || strchr(tokens->text, '\\')) {
    resetStringInfo(tokens->out);
    return;
  }
  const char* next = tokens->text + tokens->end;
  while (isspace((unsigned char)*next)) next++;
  if (!starts_literal(next)) return;
  if (next > tokens->text + tokens->end) appendStringInfoChar(tokens->out, ' ');
  appendStringInfoChar(tokens->out, '?');
}

void tailor_without_literals(const TailorPiece* piece, StringInfo out) {
  MemoryContext caller = CurrentMemoryContext;
  int length = length_up_to(piece, READ_BYTES);
  bool is_cut = !ends_at(piece, length);
  Tokens tokens = {pnstrdup(piece->text, (Size)length), 0, out};
  PG_TRY();
  {
    copy_tokens(&tokens);
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(caller);
    FlushErrorState();
    judge_error(&tokens, is_cut);
  }
  PG_END_TRY();
  pfree(tokens.text);
  if (out->len > TEXT_BYTES) {
    is_cut = true;
    out->len = pg_mbcliplen(out->data, out->len, TEXT_BYTES);
    out->data[out->len] = '\0';
  }
  if (is_cut && out->len > 0) appendStringInfoString(out, " ...");
}

bool tailor_statement_text(const TailorPiece* piece, StringInfo out) {
  if (tailor_query_text == TAILOR_TEXT_OFF || !piece->text) return false;
  if (tailor_query_text == TAILOR_TEXT_NORMALIZED) {
    tailor_without_literals(piece, out);
    return out->len > 0;
  }
  int length = length_up_to(piece, TEXT_BYTES);
  appendBinaryStringInfo(out, piece->text, length);
  if (!ends_at(piece, length)) appendStringInfoString(out, " ...");
  return out->len > 0;
}

static uint64 hash_without_literals(const TailorPiece* piece) {
  StringInfoData text;
  initStringInfo(&text);
  tailor_without_literals(piece, &text);
  /* Of a text that cannot be read without its literals, the hash stays here. */
  if (text.len == 0) appendBinaryStringInfo(&text, piece->text, length_up_to(piece, TEXT_BYTES));
  uint64 hash = hash_bytes_extended((const unsigned char*)text.data, text.len, 0);
  pfree(text.data);
  return hash;
}

uint64 tailor_statement_hash(const TailorPiece* piece) {
  /* Reading a text takes microseconds. That is much beside a short statement. */
  static struct {
    uint64 of_text, without_literals;
  } recent[RECENT_HASHES];
  if (!piece->text) return 0;
  uint64 of_text = hash_bytes_extended((const unsigned char*)piece->text, length_up_to(piece, READ_BYTES), 0);
  int place = (int)(of_text % RECENT_HASHES);
  if (recent[place].of_text != of_text) {
    recent[place].without_literals = hash_without_literals(piece);
    recent[place].of_text = of_text;
  }
  return recent[place].without_literals;
}
