/* SPDX-License-Identifier: Apache-2.0 */
#include "tailor_pg.h"

#include <ctype.h>

#include "parser/scanner.h"
#include "utils/memutils.h"

/* Where a trace's context is looked for: so much of the text at its begin and at its end. */
#define CONTEXT_BYTES 512
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

static void copy_tokens(char* text, StringInfo out) {
  core_yy_extra_type extra;
  core_YYSTYPE value;
  YYLTYPE at = 0, end = 0;
  core_yyscan_t scanner = scanner_init(text, &extra, &ScanKeywords, ScanKeywordTokens);
  while (core_yylex(&value, &at, scanner) != 0) {
    if (out->len > 0 && at > end) appendStringInfoChar(out, ' ');
    /* The scanner has ended its copy of the text behind the token. */
    const char* token = text + at;
    int length = (int)strlen(extra.scanbuf + at);
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
 * says whether the trace is kept; a statement of one that is not has no use for an execution of its own. */
static bool read_trace_id(const char* at, const char* end, char out[33]) {
  static const char kKey[] = "traceparent=";
  at += strlen(kKey);
  if (at < end && *at == '\'') at++;
  if (end - at < 55 || at[2] != '-' || at[35] != '-' || at[52] != '-') return false;
  if (!isxdigit((unsigned char)at[54]) || !strchr("13579bdfBDF", at[54])) return false;
  at += 3;
  for (int i = 0; i < 32; i++) {
    if (!isxdigit((unsigned char)at[i])) return false;
    out[i] = (char)tolower((unsigned char)at[i]);
  }
  out[32] = '\0';
  return strspn(out, "0") < 32;
}

static bool find_trace_id(const char* text, size_t length, char out[33]) {
  const char* found = memmem(text, length, "traceparent=", strlen("traceparent="));
  return found && read_trace_id(found, text + length, out);
}

bool tailor_trace_id(const char* text, char out[33]) {
  if (!text) return false;
  size_t length = strlen(text), end = length;
  while (end > 0 && (isspace((unsigned char)text[end - 1]) || text[end - 1] == ';')) end--;
  size_t begin = strspn(text, " \t\r\n");
  if (strncmp(text + begin, "/*", 2) == 0 &&
      find_trace_id(text + begin, Min(length - begin, CONTEXT_BYTES), out))
    return true;
  if (end < 2 || text[end - 1] != '/' || text[end - 2] != '*') return false;
  size_t tail = Min(end, CONTEXT_BYTES);
  return find_trace_id(text + end - tail, tail, out);
}
