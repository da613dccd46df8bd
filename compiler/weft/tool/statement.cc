#include "compiler/weft/tool/statement.h"

#include <pg_query.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tailor::weft {
namespace {

bool IsSpace(unsigned char c) {
  return std::isspace(c) != 0;
}

// If the next word of `text` at or after `at` is `word`, blanks it and moves `at` behind it.
bool TakeWord(std::string& text, std::size_t& at, std::string_view word) {
  auto begin = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), IsSpace);
  auto end = std::find_if_not(begin, text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  bool same = std::equal(begin, end, word.begin(), word.end(),
                         [](unsigned char a, char b) { return std::tolower(a) == b; });
  if (!same) return false;
  std::fill(begin, end, ' ');
  at = static_cast<std::size_t>(end - text.begin());
  return true;
}

}  // namespace

Statement ReadStatement(const std::string& text) {
  Statement statement;
  statement.sql = text;
  std::size_t at = 0;
  statement.explain = TakeWord(statement.sql, at, "explain");
  statement.analyze = statement.explain && TakeWord(statement.sql, at, "analyze");
  return statement;
}

std::vector<std::string> SplitStatements(const std::string& text) {
  // The scanner's, since explain analyze is weft's own.
  PgQuerySplitResult split = pg_query_split_with_scanner(text.c_str());
  std::vector<std::string> statements;
  for (int i = 0; split.error == nullptr && i < split.n_stmts; ++i) {
    auto begin = static_cast<std::size_t>(split.stmts[i]->stmt_location);
    auto length = static_cast<std::size_t>(split.stmts[i]->stmt_len);
    std::string statement = text.substr(0, begin + length);
    std::replace_if(
        statement.begin(), statement.begin() + static_cast<std::ptrdiff_t>(begin),
        [](char c) { return c != '\n'; }, ' ');
    statements.push_back(std::move(statement));
  }
  pg_query_free_split_result(split);
  if (statements.empty()) statements.push_back(text);
  return statements;
}

}  // namespace tailor::weft
