#include "compiler/weft/workflow/lexer.h"

#include <fmt/format.h>

namespace tailor::weft::workflow {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Reads one line after the other.
class LineReader {
 public:
  LineReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<std::vector<TokenLine>> read() {
    std::vector<TokenLine> lines;
    while (at_ < text_.size()) {
      auto tokens = read_line();
      if (!tokens.ok()) return std::move(tokens).error();
      if (tokens->size() > 1) lines.push_back(std::move(*tokens));
    }
    return lines;
  }

 private:
  Place here() const { return {line_, static_cast<unsigned>(at_ - begin_ + 1)}; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n'; }

  Result<TokenLine> read_line() {
    TokenLine tokens;
    while (!at_line_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (!at_line_end()) ++at_;
      } else {
        auto token = read_token(c);
        if (!token.ok()) return std::move(token).error();
        tokens.push_back(std::move(*token));
      }
    }
    tokens.push_back({Token::Kind::kEnd, "", here(), at_, 0});
    if (at_ < text_.size()) ++at_;
    ++line_;
    begin_ = at_;
    return tokens;
  }

  Result<Token> read_token(char c) {
    Token token;
    token.place = here();
    token.offset = at_;
    const bool negative = c == '-' && (is_digit(peek(1)) || peek(1) == '.');
    if (begins_name(c)) {
      token.kind = Token::Kind::kName;
      while (begins_name(peek()) || is_digit(peek())) ++at_;
    } else if (is_digit(c) || negative) {
      token.kind = Token::Kind::kInteger;
      if (negative) ++at_;
      read_number(token.kind);
      if (begins_name(peek())) return error_at(file_, here(), "a number is followed by a letter");
    } else if (c == '"') {
      return read_string(std::move(token));
    } else if (c == '-' && peek(1) == '>') {
      token.kind = Token::Kind::kMark;
      at_ += 2;
    } else if (std::string_view("()[],=").find(c) != std::string_view::npos) {
      token.kind = Token::Kind::kMark;
      ++at_;
    } else {
      const unsigned byte = static_cast<unsigned char>(c);
      return error_at(file_, here(),
                      byte > 0x20 && byte < 0x7f ? fmt::format("'{}' has no meaning here", c)
                                                 : fmt::format("byte {:#04x} has no meaning here", byte));
    }
    token.text = std::string(text_.substr(token.offset, at_ - token.offset));
    token.size = at_ - token.offset;
    return token;
  }

  void read_number(Token::Kind& kind) {
    while (is_digit(peek())) ++at_;
    if (peek() == '.') {
      kind = Token::Kind::kReal;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() != 'e' && peek() != 'E') return;
    const std::size_t sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
    if (!is_digit(peek(1 + sign))) return;
    kind = Token::Kind::kReal;
    at_ += 1 + sign;
    while (is_digit(peek())) ++at_;
  }

  Result<Token> read_string(Token token) {
    token.kind = Token::Kind::kString;
    ++at_;
    while (!at_line_end() && peek() != '"') token.text += text_[at_++];
    if (at_line_end()) return error_at(file_, token.place, "a string has no end on its line");
    ++at_;
    token.size = at_ - token.offset;
    return token;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the line
  unsigned line_ = 1;
};

}  // namespace

Result<std::vector<TokenLine>> read_token_lines(std::string_view text, const std::string& file) {
  if (text.size() > kMostText) {
    return invalid(fmt::format("{}: the file has {} bytes, and a workflow has at most {}", file, text.size(),
                               kMostText));
  }
  return LineReader(text, file).read();
}

std::string token_text(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the line";
  return fmt::format("'{}'", token.text);
}

}  // namespace tailor::weft::workflow
