// What a text asks for before it says which query: explain, explain analyze.
#pragma once

#include <string>
#include <vector>

namespace tailor::weft {

struct Statement {
  bool explain = false;
  bool analyze = false;  // only with explain
  std::string sql;       // the query; what stood before it is blank, so that positions in it stay right
};

// Any text is a statement; what is wrong with the query is found later.
Statement ReadStatement(const std::string& text);

// The statements of a text, which semicolons separate. Each has blanks where the ones before it stood, so
// that positions in it are positions in the text. A text that cannot be read is one statement.
std::vector<std::string> SplitStatements(const std::string& text);

}  // namespace tailor::weft
