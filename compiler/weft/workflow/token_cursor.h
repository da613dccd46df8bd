// Walks over the words of one line of a workflow file. What does not fit ends the parsing of the whole file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/weft/workflow/lexer.h"

namespace tailor::weft::workflow {

// Thrown within this folder's parser, and caught by parse_workflow().
struct ParseFailure {
  Error error;
};

class TokenCursor {
 public:
  // Both outlive the cursor.
  TokenCursor(const std::string& file, const TokenLine& line) : file_(file), line_(line) {}

  const Token& peek() const { return line_[at_]; }
  Place place() const { return peek().place; }
  bool at_end() const { return peek().kind == Token::Kind::kEnd; }
  // Takes a word or mark if it comes next.
  bool take(std::string_view text);
  // The next one must be this word or mark.
  void expect(std::string_view text);
  // Nothing more may come.
  void expect_end();
  // The next one must be a name, a string, a number. `what` says what it is for.
  std::string name(const char* what);
  std::string string(const char* what);
  // A name, or any text in quotes: front ends other than C's give functions names with dots and the like.
  std::string function(const char* what);
  double number(const char* what);
  std::int64_t integer(const char* what);

  [[noreturn]] void fail_expected(const std::string& what) const;
  [[noreturn]] void fail(Place place, const std::string& message) const;

 private:
  const Token& next();

  const std::string& file_;
  const TokenLine& line_;
  std::size_t at_ = 0;
};

}  // namespace tailor::weft::workflow
