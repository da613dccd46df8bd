// What a text asks for before it says which query: explain, explain analyze.
#pragma once

#include <string>
#include <vector>

#include "compiler/weft/plan/query_text.h"

namespace tailor::weft {

struct Statement {
  bool explain = false;
  bool analyze = false;  // only with explain
  QueryText sql;         // the query; what stood before it is blank, so that positions in it stay right
};

// Any text is a statement; what is wrong with the query is found later.
Statement read_statement(const QueryText& text);

// The statements of a text, which semicolons separate, with their places in it. A text that cannot be read is
// one statement.
std::vector<QueryText> split_statements(const std::string& text);

// Whether there is more in a text than blanks and comments. A text that cannot be read counts as more.
bool has_statement(const std::string& text);

}  // namespace tailor::weft
