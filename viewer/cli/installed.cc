#include "viewer/cli/installed.h"

#include <algorithm>

namespace tailor::cli {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// How many parentheses are open behind the text.
int open_after(std::string_view text, int depth) {
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
  }
  return depth;
}

}  // namespace

fs::path share_directory() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  return unknown || program.empty() ? fs::path() : program.parent_path().parent_path() / "share";
}

std::string with_document_paths(std::string_view text, const fs::path& documents) {
  constexpr std::string_view kBefore = "docs/", kAfter = ".md";
  std::string out;
  int depth = 0;  // of parentheses that are open
  while (true) {
    const std::size_t at = text.find(kBefore);
    if (documents.empty() || at == std::string_view::npos) return out.append(text);
    depth = open_after(text.substr(0, at), depth);
    const std::string_view rest = text.substr(at + kBefore.size());
    const auto length =
        static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_name_letter) - rest.begin());
    // Part of a longer path: it is another file.
    const bool alone =
        at == 0 || (!is_name_letter(text[at - 1]) && text[at - 1] != '/' && text[at - 1] != '.');
    const bool page = depth > 0 && alone && length > 0 && rest.substr(length).starts_with(kAfter);
    const std::string name = std::string(rest.substr(0, length)).append(kAfter);
    out.append(text.substr(0, at));
    if (page && is_file(documents / name)) {
      out.append((documents / name).string());
    } else {
      out.append(text.substr(at, kBefore.size() + length + (page ? kAfter.size() : 0)));
    }
    text.remove_prefix(at + kBefore.size() + length + (page ? kAfter.size() : 0));
  }
}

std::string with_document_paths(std::string_view text) {
  const fs::path share = share_directory();
  return with_document_paths(text, share.empty() ? share : share / "doc/tailor");
}

std::string find_rules(const std::string& name, const fs::path& installed) {
  if (name.empty() || name.find('/') != std::string::npos || is_file(name) || installed.empty()) return name;
  for (const std::string& each : {name, name + ".toml"}) {
    if (is_file(installed / each)) return installed / each;
  }
  return name;
}

std::string find_rules(const std::string& name) {
  const fs::path share = share_directory();
  return find_rules(name, share.empty() ? share : share / "tailor/rules");
}

}  // namespace tailor::cli
