#include "compiler/weft/tool/statement.h"

#include <pg_query.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tailor::weft {
namespace {

bool is_space(unsigned char c) {
  return std::isspace(c) != 0;
}

// If the next word of `text` at or after `at` is `word`, blanks it and moves `at` behind it.
bool take_word(std::string& text, std::size_t& at, std::string_view word) {
  auto begin = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_space);
  auto end = std::find_if_not(begin, text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  bool same = std::equal(begin, end, word.begin(), word.end(),
                         [](unsigned char a, char b) { return std::tolower(a) == b; });
  if (!same) return false;
  std::fill(begin, end, ' ');
  at = static_cast<std::size_t>(end - text.begin());
  return true;
}

}  // namespace

Statement read_statement(const QueryText& text) {
  Statement statement;
  statement.sql = text;
  std::size_t at = 0;
  statement.explain = take_word(statement.sql.text, at, "explain");
  statement.analyze = statement.explain && take_word(statement.sql.text, at, "analyze");
  return statement;
}

std::vector<QueryText> split_statements(const std::string& text) {
  // The scanner's, since explain analyze is weft's own.
  PgQuerySplitResult split = pg_query_split_with_scanner(text.c_str());
  std::vector<QueryText> statements;
  TextPlace place;
  std::size_t end = 0;  // of what lies before `place`
  for (int i = 0; split.error == nullptr && i < split.n_stmts; ++i) {
    auto begin = static_cast<std::size_t>(split.stmts[i]->stmt_location);
    place = place_after(place, std::string_view(text).substr(end, begin - end));
    end = begin;
    statements.emplace_back(text.substr(begin, static_cast<std::size_t>(split.stmts[i]->stmt_len)), place);
  }
  pg_query_free_split_result(split);
  if (statements.empty()) statements.emplace_back(text);
  return statements;
}

bool has_statement(const std::string& text) {
  PgQuerySplitResult split = pg_query_split_with_scanner(text.c_str());
  const bool found = split.error != nullptr || split.n_stmts > 0;
  pg_query_free_split_result(split);
  return found;
}

}  // namespace tailor::weft
