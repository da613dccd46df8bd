/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of the server in UTF-8, the encoding of Tailor's messages, and back. What cannot be converted arrives
 * as '?'. What is sent raises no error here, whatever bytes a text has.
 */
#include "postgres.h"

#include "utf8.h"

#include "access/xact.h"
#include "catalog/pg_conversion.h"
#include "catalog/pg_namespace.h"
#include "common/string.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

/* The server's own function from the database's encoding to UTF-8; InvalidOid: it has none. A user may define
 * another one in a schema of theirs, which is not called here. */
static Oid conversion(void) {
  static Oid function = InvalidOid;
  if (!OidIsValid(function) && IsTransactionState())
    function = FindDefaultConversion(PG_CATALOG_NAMESPACE, GetDatabaseEncoding(), PG_UTF8);
  return function;
}

static char* converted(const char* text, int length, Oid function, int from_encoding, int to_encoding) {
  int size = length * MAX_CONVERSION_GROWTH + 1;
  char* out = palloc0((Size)size);
  int from = 0, to = 0;
  while (from < length) {
    from += pg_do_encoding_conversion_buf(function, from_encoding, to_encoding, (unsigned char*)text + from,
                                          length - from, (unsigned char*)out + to, size - to, true);
    to += (int)strlen(out + to);
    if (from >= length) break;
    out[to++] = '?'; /* for a character that the other encoding does not have */
    from += Max(pg_encoding_mblen(from_encoding, text + from), 1);
  }
  out[to] = '\0';
  return out;
}

/* Longer ones have no room for what they may become. */
#define MOST_CONVERTED (MaxAllocSize / (2 * MAX_CONVERSION_GROWTH))

const char* tailor_utf8(const char* text) {
  /* SQL_ASCII says nothing about the encoding: the bytes may be UTF-8. */
  if (GetDatabaseEncoding() == PG_UTF8 || GetDatabaseEncoding() == PG_SQL_ASCII || pg_is_ascii(text))
    return text;
  Oid function = conversion();
  size_t length = strlen(text);
  if (!OidIsValid(function) || length > MOST_CONVERTED) return text;
  return converted(text, (int)length, function, GetDatabaseEncoding(), PG_UTF8);
}

char* tailor_from_utf8(char* text, int length) {
  int encoding = GetDatabaseEncoding();
  bool is_same = encoding == PG_UTF8 || encoding == PG_SQL_ASCII || pg_is_ascii(text);
  Oid function = is_same ? InvalidOid : FindDefaultConversion(PG_CATALOG_NAMESPACE, PG_UTF8, encoding);
  if (!OidIsValid(function) || (Size)length > MOST_CONVERTED) return pg_any_to_server(text, length, PG_UTF8);
  return converted(text, length, function, PG_UTF8, encoding);
}

const char* tailor_shared_utf8(const char* name) {
  int length = (int)strlen(name);
  /* No other encoding's letters are UTF-8 by chance, in a name. */
  return pg_encoding_verifymbstr(PG_UTF8, name, length) == length ? name : tailor_utf8(name);
}
