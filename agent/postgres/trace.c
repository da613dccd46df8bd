/* SPDX-License-Identifier: Apache-2.0 */
/* The trace that a statement belongs to, as the comment says with which it begins or ends. */
#include "postgres.h"

#include "trace.h"

#include <ctype.h>

#include "statement.h"

/* Where a trace's context is looked for: so much of the text at its begin and at its end. */
#define CONTEXT_BYTES 512
/* The end of a longer statement is not looked for. */
#define MOST_BYTES (1024 * 1024)

/* `length` digits of `at` as lower-case letters into `out`. False: they are none, or all zeros. */
static bool read_id(const char* at, int length, char* out) {
  for (int i = 0; i < length; i++) {
    if (!isxdigit((unsigned char)at[i])) return false;
    out[i] = (char)tolower((unsigned char)at[i]);
  }
  out[length] = '\0';
  return strspn(out, "0") < (size_t)length;
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
  if (!read_id(at + 36, 16, out->span)) out->span[0] = '\0';
  return read_id(at + 3, 32, out->id);
}

static bool find_trace(const char* text, size_t length, TailorTrace* out) {
  const char* found = memmem(text, length, "traceparent=", strlen("traceparent="));
  return found && read_trace(found, text + length, out);
}

static bool is_gap(char c) {
  return isspace((unsigned char)c) || c == ';';
}

/* Behind white space and semicolons; they may go on there if they are many. */
static const char* behind_gap(const char* at) {
  const char* most = at + CONTEXT_BYTES;
  while (at < most && is_gap(*at)) at++;
  return at;
}

/* How long the statement is; above MOST_BYTES: longer than that. */
static size_t length_of(const TailorPiece* piece) {
  size_t most = MOST_BYTES + 1;
  return strnlen(piece->text, piece->length < 0 ? most : Min((size_t)piece->length, most));
}

/* The end of the text that ends with this statement, with the comment behind its semicolon if nothing but
 * that comment follows. */
static const char* end_of(const TailorPiece* piece, size_t length) {
  const char* end = piece->text + length;
  if (piece->length < 0) return end;
  const char* comment = behind_gap(end);
  if (strncmp(comment, "/*", 2) != 0) return end;
  const char* closed = memmem(comment, strnlen(comment, CONTEXT_BYTES), "*/", 2);
  if (!closed) return end;
  const char* rest = behind_gap(closed + 2);
  return *rest == '\0' ? rest : end;
}

/* Without white space and semicolons at its end, if they are few. */
static const char* without_gap(const char* begin, const char* end) {
  const char* least = end - begin > CONTEXT_BYTES ? end - CONTEXT_BYTES : begin;
  while (end > least && is_gap(end[-1])) end--;
  return end;
}

bool tailor_trace_of(const TailorPiece* piece, TailorTrace* out) {
  if (!piece->text) return false;
  const char* begin = piece->text;
  size_t length = length_of(piece);
  if (length < 4) return false;
  if (strncmp(begin, "/*", 2) == 0 && find_trace(begin, Min(length, CONTEXT_BYTES), out)) return true;
  if (length > MOST_BYTES) return false;
  const char* end = without_gap(begin, end_of(piece, length));
  size_t tail = Min((size_t)(end - begin), CONTEXT_BYTES);
  if (tail < 4 || strncmp(end - 2, "*/", 2) != 0) return false;
  return find_trace(end - tail, tail, out);
}
