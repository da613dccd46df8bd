#include "viewer/cli/bug_report.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace tailor::cli {
namespace {

// Execution ids have 32 digits, digests of tokens 64.
constexpr std::size_t kSecretDigits = 40;
constexpr std::string_view kBearer = "bearer ", kHome = "/home/";

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// How far `is` holds from `at` on.
template <typename Is>
std::size_t run_of(std::string_view text, std::size_t at, Is is) {
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
  return static_cast<std::size_t>(std::find_if_not(begin, text.end(), is) - begin);
}

bool begins(std::string_view text, std::string_view with) {
  return text.size() >= with.size() &&
         std::ranges::equal(text.substr(0, with.size()), with,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// What stands at a place in the place of how many characters; 0: the text stays as it is.
struct Change {
  std::size_t size = 0;
  std::string_view by;
};

Change change_at(std::string_view text, std::size_t at, std::string_view host) {
  const std::string_view rest = text.substr(at);
  const bool starts_word = at == 0 || !is_name(text[at - 1]);
  if (begins(rest, kBearer)) {
    const auto graphic = [](char c) { return std::isgraph(static_cast<unsigned char>(c)) != 0; };
    return {kBearer.size() + run_of(text, at + kBearer.size(), graphic), "Bearer [removed]"};
  }
  if (begins(rest, kHome)) {
    const auto of_name = [](char c) { return is_name(c) || c == '.'; };
    const std::size_t name = run_of(text, at + kHome.size(), of_name);
    return {name == 0 ? 0 : kHome.size() + name, "/home/[user]"};
  }
  if (starts_word && is_hex(text[at])) {
    const std::size_t digits = run_of(text, at, is_hex);
    if (digits >= kSecretDigits) return {digits, "[removed]"};
  }
  if (starts_word && !host.empty() && rest.starts_with(host) &&
      (rest.size() == host.size() || !is_name(rest[host.size()])))
    return {host.size(), "[host]"};
  return {};
}

}  // namespace

Cleaned clean_for_others(std::string_view text, std::string_view host) {
  Cleaned cleaned;
  cleaned.text.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Change change = change_at(text, at, host);
    if (change.size == 0) {
      cleaned.text += text[at++];
      continue;
    }
    cleaned.text += change.by;
    at += change.size;
    ++cleaned.removed;
  }
  return cleaned;
}

}  // namespace tailor::cli
