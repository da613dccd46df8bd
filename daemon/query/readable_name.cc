#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "daemon/query/elf_functions.h"

namespace tailor::query {
namespace {

// The parameter list at the end, with what may follow it.
std::string_view without_parameters(std::string_view text) {
  std::string_view rest = text;
  for (bool again = true; again;) {
    again = false;
    for (std::string_view word : {" const", " volatile", " &&", " &", " noexcept"}) {
      if (!rest.ends_with(word)) continue;
      rest.remove_suffix(word.size());
      again = true;
    }
  }
  if (!rest.ends_with(')')) return text;
  std::size_t depth = 0;
  for (std::size_t i = rest.size(); i-- > 0;) {
    if (rest[i] == ')') ++depth;
    if (rest[i] == '(' && --depth == 0) return i == 0 ? text : rest.substr(0, i);
  }
  return text;
}

// Templates show their return type; names have no space outside of brackets, but for some operators.
std::string_view without_return_type(std::string_view text) {
  if (text.find('<') == text.npos || text.find("operator") != text.npos) return text;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(' || text[i] == '{') ++depth;
    if (text[i] == '>' || text[i] == ')' || text[i] == '}') --depth;
    if (depth == 0 && text[i] == ' ') begin = i + 1;
  }
  return depth == 0 ? text.substr(begin) : text;
}

// A name may be text that a reader of it never ends with: each reference to an earlier part can repeat all of
// it. With so many the text has at most some 1.45^24 times the length of the name.
bool may_demangle(std::string_view mangled) {
  constexpr std::size_t kLongest = 1024, kMostReferences = 24;
  if (mangled.size() > kLongest) return false;
  std::size_t references = 0;
  for (std::size_t i = 0; i < mangled.size(); ++i) {
    if (mangled[i] != 'S' && mangled[i] != 'T') continue;
    std::size_t end = i + 1;
    while (end < mangled.size() && std::isalnum(static_cast<unsigned char>(mangled[end]))) ++end;
    references += end < mangled.size() && mangled[end] == '_';
  }
  return references <= kMostReferences;
}

}  // namespace

std::string readable_name(const std::string& linker_name) {
  // perf's own names for entries of the linkage table.
  const bool linkage = linker_name.ends_with("@plt");
  std::string mangled = linkage ? linker_name.substr(0, linker_name.size() - 4) : linker_name;
  const std::size_t clone = mangled.starts_with("_Z") ? mangled.find('.') : std::string::npos;
  const std::string suffix = clone == std::string::npos ? "" : " [clone " + mangled.substr(clone) + "]";
  if (clone != std::string::npos) mangled.resize(clone);
  if (const std::size_t version = mangled.find('@'); version != std::string::npos) mangled.resize(version);
  if (!mangled.starts_with("_Z")) return linkage ? mangled + "@plt" : linker_name;
  if (!may_demangle(mangled)) return linker_name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || plain == nullptr) return linker_name;
  constexpr std::size_t kLongestShown = 4096;
  const std::string_view name = without_return_type(without_parameters(plain.get())).substr(0, kLongestShown);
  return std::string(name) + suffix + (linkage ? "@plt" : "");
}

}  // namespace tailor::query
