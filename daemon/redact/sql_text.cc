#include "daemon/redact/sql_text.h"

#include <algorithm>
#include <array>

namespace tailor::redact {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Bytes of other alphabets are letters.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '$';
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// A date without quotes, "1995-01-01", as conditions of Spark have it.
bool begins_with_date(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00";
  if (text.size() < kShape.size() || (text.size() > kShape.size() && is_word(text[kShape.size()])))
    return false;
  return std::equal(kShape.begin(), kShape.end(), text.begin(),
                    [](char wanted, char c) { return wanted == '0' ? is_digit(c) : c == wanted; });
}

class Lexer {
 public:
  Lexer(std::string_view text, DoubleQuotes quotes) : text_(text), quotes_(quotes) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    const char c = peek();
    if (c == '\'') return string('\'', false);
    if (c == '"' && quotes_ == DoubleQuotes::kLiteral) return string('"', false);
    if (c == '"' || c == '`') return quoted_name(c);
    if (c == '$') return dollar();
    if (c == '-' && peek(1) == '-') return line_comment();
    if (c == '#' && (out_.empty() || is_space(out_.back()))) return line_comment();
    if (c == '/' && peek(1) == '*') return block_comment();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_letter(c)) return word();
    out_ += c;
    ++at_;
  }

  void all_that_is_left() {
    out_ += '?';
    at_ = text_.size();
  }

  // `escapes`: a backslash surely escapes what follows it.
  void string(char quote, bool escapes) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        if (escapes || peek(1) == '\\') {
          ++at_;
        } else if (peek(1) == quote) {
          return all_that_is_left();
        }
      } else if (text_[at_] == quote) {
        if (peek(1) != quote) break;
        ++at_;
      }
    }
    at_ = std::min(at_ + 1, text_.size());
    out_ += '?';
  }

  void quoted_name(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\\' && text_[end] != '\n') ++end;
    // What is no plain name may be anything.
    if (end >= text_.size() || text_[end] != quote) return all_that_is_left();
    out_ += text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
  }

  // $1 is a parameter, $tag$ begins a string, anything else is a character.
  void dollar() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_word(text_[end]) && text_[end] != '$') ++end;
    if (end < text_.size() && text_[end] == '$' && !is_digit(peek(1))) {
      const std::string_view tag = text_.substr(at_, end + 1 - at_);
      const std::size_t close = text_.find(tag, end + 1);
      if (close == std::string_view::npos) return all_that_is_left();
      at_ = close + tag.size();
      out_ += '?';
      return;
    }
    out_ += '$';
    ++at_;
    while (is_digit(peek())) out_ += text_[at_++];
  }

  void line_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    out_ += ' ';
  }

  // They nest in some dialects: one that is not closed so takes the rest with it.
  void block_comment() {
    std::size_t depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '/' && peek(1) == '*') {
        ++depth;
        ++at_;
      } else if (text_[at_] == '*' && peek(1) == '/') {
        ++at_;
        if (--depth == 0) break;
      }
    }
    at_ = std::min(at_ + 1, text_.size());
    out_ += ' ';
  }

  // With exponent, fraction, digits of hexadecimal numbers and whatever letters stick to it.
  void number() {
    constexpr std::size_t kDateBytes = 10;
    if (begins_with_date(text_.substr(at_))) at_ += kDateBytes;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const char before = text_[at_ - (at_ > 0 ? 1 : 0)];
      const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E') && is_digit(peek(1));
      if (!is_word(c) && c != '.' && !sign) break;
    }
    out_ += '?';
  }

  void word() {
    const std::size_t from = at_;
    while (is_word(peek())) ++at_;
    const std::string_view text = text_.substr(from, at_ - from);
    // E'..', X'..', N'..', _utf8'..': a literal with its prefix.
    if (peek() == '\'' && (text.size() == 1 || text.front() == '_')) {
      return string('\'', text == "E" || text == "e");
    }
    if (text.size() == 1 && peek() == '&' && peek(1) == '\'') {
      ++at_;
      return string('\'', false);
    }
    out_ += text;
  }

  std::string_view text_;
  DoubleQuotes quotes_;
  std::size_t at_ = 0;
  std::string out_;
};

// Words of statements and conditions, and long numbers between words: what holds them may hold literals.
bool looks_like_sql(std::string_view name) {
  constexpr std::array<std::string_view, 25> kWords = {
      "select", "insert",  "update", "delete", "with",   "merge", "call",    "values", "set",
      "copy",   "explain", "create", "alter",  "drop",   "do",    "execute", "where",  "between",
      "and",    "or",      "in",     "like",   "having", "limit", "is"};
  constexpr std::size_t kLongNumber = 4;
  bool first = true;
  for (std::size_t at = name.find_first_not_of(' '); at < name.size(); at = name.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(name.find(' ', at), name.size());
    std::string word(name.substr(at, end - at));
    at = end;
    while (word.ends_with(':')) word.pop_back();
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
    const bool number = std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c); });
    if (!first && number && word.size() >= kLongNumber) return true;
    first = false;
  }
  return false;
}

// White space tells words and quoted names apart, and nothing else.
std::string one_line(std::string_view text) {
  const auto of_a_name = [](char c) { return is_word(c) || c == '"' || c == '`'; };
  std::string out;
  char quote = '\0';
  bool blank = false;
  for (char c : text) {
    if (quote != '\0') {
      out += c;
      if (c == quote) quote = '\0';
    } else if (is_space(c)) {
      blank = true;
    } else {
      if (blank && !out.empty() && of_a_name(out.back()) && of_a_name(c)) out += ' ';
      blank = false;
      if (c == '"' || c == '`') quote = c;
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  while (out.ends_with(';')) out.pop_back();
  return out;
}

// "(?, ?, ?)" becomes "(?)": how many there are is as good as a literal.
std::string lists_as_one(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '?') {
      out += text[at++];
      continue;
    }
    out += '?';
    std::size_t end = ++at;
    while (end < text.size()) {
      std::size_t next = end;
      while (next < text.size() && (text[next] == ',' || text[next] == ' ')) ++next;
      if (next == end || next >= text.size() || text[next] != '?' ||
          text.substr(end, next - end).find(',') == std::string_view::npos)
        break;
      end = next + 1;
    }
    at = end;
  }
  return out;
}

}  // namespace

std::string without_literals(std::string_view sql, DoubleQuotes quotes) {
  return Lexer(sql, quotes).run();
}

std::string name_without_literals(std::string_view name, DoubleQuotes quotes) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return is_word(c) || c == '-' || c == '.' || c == ':' || c == '/' || c == '#' || c == ' ' || c == '_';
  });
  return plain && !looks_like_sql(name) ? std::string(name) : without_literals(name, quotes);
}

std::string normalised(std::string_view sql, DoubleQuotes quotes) {
  return lists_as_one(one_line(without_literals(sql, quotes)));
}

}  // namespace tailor::redact
