#include "compiler/weft/workflow/token_cursor.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tailor::weft::workflow {

const Token& TokenCursor::next() {
  const Token& token = line_[at_];
  if (token.kind != Token::Kind::kEnd) ++at_;
  return token;
}

bool TokenCursor::take(std::string_view text) {
  const bool word = peek().kind == Token::Kind::kName || peek().kind == Token::Kind::kMark;
  if (!word || peek().text != text) return false;
  ++at_;
  return true;
}

void TokenCursor::expect(std::string_view text) {
  if (!take(text)) fail_expected(fmt::format("'{}'", text));
}

void TokenCursor::expect_end() {
  if (!at_end()) fail_expected("the end of the line");
}

std::string TokenCursor::name(const char* what) {
  if (peek().kind != Token::Kind::kName) fail_expected(what);
  return next().text;
}

std::string TokenCursor::string(const char* what) {
  if (peek().kind != Token::Kind::kString) fail_expected(what);
  return next().text;
}

std::string TokenCursor::function(const char* what) {
  const Place begin = place();
  if (peek().kind != Token::Kind::kString) return name(what);
  std::string text = string(what);
  if (text.empty()) fail(begin, "the name of the function is empty");
  return text;
}

double TokenCursor::number(const char* what) {
  if (peek().kind != Token::Kind::kInteger && peek().kind != Token::Kind::kReal) fail_expected(what);
  const Token& token = next();
  double value = 0;
  const auto [end, problem] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (problem != std::errc() || end != token.text.data() + token.text.size() || !std::isfinite(value))
    fail(token.place, fmt::format("{} is no number that an f64 can hold", token.text));
  return value;
}

std::int64_t TokenCursor::integer(const char* what) {
  if (peek().kind != Token::Kind::kInteger) fail_expected(what);
  const Token& token = next();
  std::int64_t value = 0;
  const auto [end, problem] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (problem != std::errc() || end != token.text.data() + token.text.size())
    fail(token.place, fmt::format("{} is no whole number that an i64 can hold", token.text));
  return value;
}

void TokenCursor::fail_expected(const std::string& what) const {
  fail(place(), fmt::format("{} is expected here, not {}", what, token_text(peek())));
}

void TokenCursor::fail(Place place, const std::string& message) const {
  throw ParseFailure{error_at(file_, place, message)};
}

}  // namespace tailor::weft::workflow
