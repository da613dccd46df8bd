#include <fmt/format.h>

#include <cctype>

#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/sql/sql_error.h"

namespace tailor::weft {
namespace {

// Where the hint comment's text begins, or npos. Quoted text and other comments do not count.
std::size_t find_hints(const std::string& sql) {
  for (std::size_t i = 0; i < sql.size(); ++i) {
    if (sql[i] == '\'' || sql[i] == '"') {
      i = sql.find(sql[i], i + 1);
    } else if (sql.compare(i, 2, "--") == 0) {
      i = sql.find('\n', i);
    } else if (sql.compare(i, 3, "/*+") == 0) {
      return i + 3;
    } else if (sql.compare(i, 2, "/*") == 0) {
      i = sql.find("*/", i + 2);
    }
    if (i == std::string::npos) break;
  }
  return std::string::npos;
}

class HintReader {
 public:
  HintReader(const QueryText& sql, std::size_t begin, std::size_t end)
      : query_(sql), sql_(sql.text), at_(begin), end_(end) {}

  Result<PlannerOptions> read(PlannerOptions options) {
    for (std::string word = next(); !word.empty(); word = next()) {
      if (word == "groupjoin" || word == "no_groupjoin") {
        options.groupjoin = word == "groupjoin";
      } else if (int location = static_cast<int>(start_); word == "leading" && next() == "(") {
        options.leading_location = location;
        options.leading = tree();
        if (!error_.empty()) return sql_error(query_, static_cast<int>(start_), error_);
      } else {
        return sql_error(query_, static_cast<int>(start_), fmt::format("{} is no hint", word));
      }
    }
    return options;
  }

 private:
  // A parenthesis or a word in lower case; empty at the end.
  std::string next() {
    while (at_ < end_ && std::isspace(static_cast<unsigned char>(sql_[at_])) != 0) ++at_;
    start_ = at_;
    if (at_ == end_) return {};
    if (sql_[at_] == '(' || sql_[at_] == ')') return std::string(1, sql_[at_++]);
    std::string word;
    while (at_ < end_ && (std::isalnum(static_cast<unsigned char>(sql_[at_])) != 0 || sql_[at_] == '_')) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(sql_[at_++])));
    }
    if (word.empty()) word = sql_[at_++];
    return word;
  }

  // After "(": two subtrees and ")".
  JoinTree tree(int depth = 0) {
    JoinTree result;
    for (std::string word = next(); word != ")"; word = next()) {
      bool is_name =
          !word.empty() && (std::isalnum(static_cast<unsigned char>(word[0])) != 0 || word[0] == '_');
      if (depth > 30 || (!is_name && word != "(")) {
        error_ = "leading takes a tree of table names in parentheses";
        return result;
      }
      result.inputs.push_back(is_name ? JoinTree{word, {}} : tree(depth + 1));
      if (!error_.empty()) return result;
    }
    if (result.inputs.size() != 2) error_ = "a join in leading has two inputs";
    return result;
  }

  const QueryText& query_;
  const std::string& sql_;
  std::size_t at_;
  std::size_t end_;
  std::size_t start_ = 0;
  std::string error_;
};

}  // namespace

Result<PlannerOptions> read_hints(const QueryText& sql, const PlannerOptions& defaults) {
  std::size_t begin = find_hints(sql.text);
  if (begin == std::string::npos) return defaults;
  std::size_t end = sql.text.find("*/", begin);
  if (end == std::string::npos) return defaults;  // the parser will complain
  return HintReader(sql, begin, end).read(defaults);
}

}  // namespace tailor::weft
