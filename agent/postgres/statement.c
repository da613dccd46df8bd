/* SPDX-License-Identifier: Apache-2.0 */
#include "tailor_pg.h"

#include <ctype.h>

#include "parser/scanner.h"
#include "utils/memutils.h"

/* Where a trace's context is looked for: so much of the text at its begin and at its end. */
#define CONTEXT_BYTES 512
#define DATE_BYTES 10
/* A longer text is cut. */
#define TEXT_BYTES 65536

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

static void copy_tokens(char* text, StringInfo out) {
  core_yy_extra_type extra;
  core_YYSTYPE value;
  YYLTYPE at = 0, end = 0;
  core_yyscan_t scanner = scanner_init(text, &extra, &ScanKeywords, ScanKeywordTokens);
  while (core_yylex(&value, &at, scanner) != 0) {
    if (at < end) continue; /* of a date */
    if (out->len > 0 && at > end) appendStringInfoChar(out, ' ');
    /* The scanner has ended its copy of the text behind the token. */
    const char* token = text + at;
    int length = is_date(token) ? DATE_BYTES : (int)strlen(extra.scanbuf + at);
    if (starts_literal(token))
      appendStringInfoChar(out, '?');
    else
      appendBinaryStringInfo(out, token, length);
    end = at + length;
    if (out->len > TEXT_BYTES) break;
  }
  scanner_finish(scanner);
}

void tailor_without_literals(const char* text, int length, StringInfo out) {
  MemoryContext caller = CurrentMemoryContext;
  int before = out->len;
  char* copy = pnstrdup(text, (Size)length);
  PG_TRY();
  {
    copy_tokens(copy, out);
  }
  PG_CATCH();
  {
    /* It was parsed under other settings. Then no text is better than a piece of a literal. */
    MemoryContextSwitchTo(caller);
    FlushErrorState();
    out->len = before;
    out->data[before] = '\0';
  }
  PG_END_TRY();
  pfree(copy);
}

bool tailor_statement_text(QueryDesc* query, StringInfo out) {
  const char* text = query->sourceText;
  if (tailor_query_text == TAILOR_TEXT_OFF || !text) return false;
  int size = (int)strnlen(text, MaxAllocSize - 1);
  int begin = query->plannedstmt->stmt_location, length = query->plannedstmt->stmt_len;
  if (begin < 0 || begin > size) begin = 0;
  if (length <= 0 || length > size - begin) length = size - begin;
  while (length > 0 && isspace((unsigned char)text[begin])) begin++, length--;
  if (tailor_query_text == TAILOR_TEXT_FULL)
    appendBinaryStringInfo(out, text + begin, Min(length, TEXT_BYTES));
  else
    tailor_without_literals(text + begin, length, out);
  return out->len > 0;
}

/* traceparent='00-<32 digits>-<16>-<2>', as comments of sqlcommenter have it. The last bit of the last number
 * says whether the trace is kept. */
static bool read_trace(const char* at, const char* end, TailorTrace* out) {
  static const char kKey[] = "traceparent=";
  at += strlen(kKey);
  if (at < end && *at == '\'') at++;
  if (end - at < 55 || at[2] != '-' || at[35] != '-' || at[52] != '-') return false;
  if (!isxdigit((unsigned char)at[54])) return false;
  out->sampled = strchr("13579bdfBDF", at[54]) != NULL;
  at += 3;
  for (int i = 0; i < 32; i++) {
    if (!isxdigit((unsigned char)at[i])) return false;
    out->id[i] = (char)tolower((unsigned char)at[i]);
  }
  out->id[32] = '\0';
  return strspn(out->id, "0") < 32;
}

static bool find_trace(const char* text, size_t length, TailorTrace* out) {
  const char* found = memmem(text, length, "traceparent=", strlen("traceparent="));
  return found && read_trace(found, text + length, out);
}

bool tailor_trace_of(const char* text, TailorTrace* out) {
  if (!text) return false;
  size_t length = strlen(text), end = length;
  while (end > 0 && (isspace((unsigned char)text[end - 1]) || text[end - 1] == ';')) end--;
  size_t begin = 0;
  while (isspace((unsigned char)text[begin])) begin++;
  if (strncmp(text + begin, "/*", 2) == 0 &&
      find_trace(text + begin, Min(length - begin, CONTEXT_BYTES), out))
    return true;
  if (end < 2 || text[end - 1] != '/' || text[end - 2] != '*') return false;
  size_t tail = Min(end, CONTEXT_BYTES);
  return find_trace(text + end - tail, tail, out);
}
