#include "daemon/query/symbols/readable_name.h"

// The basename() of the next header is not that of C++.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/query/symbols/rust_legacy_name.h"

namespace tailor::query {
namespace {

// The library's own limit is about 1024, as it works on the stack. So much needs no megabyte of it.
constexpr std::size_t kLongestMangled = 4096;
constexpr std::size_t kLongestShown = 4096;

// What a demangler writes, piece by piece. A name may be text that a reader of it never ends with, as each
// reference to an earlier part can repeat all of it: so what is beyond the limit ends the demangler. It keeps
// nothing on the heap while it writes C++, so nothing is lost by that.
struct Output {
  char text[kLongestShown];
  std::size_t size = 0;
  bool may_leave = false;
  std::jmp_buf out;
};

void take_text(const char* text, std::size_t size, void* to) {
  auto& output = *static_cast<Output*>(to);
  const std::size_t part = std::min(size, kLongestShown - output.size);
  std::copy_n(text, part, output.text + output.size);
  output.size += part;
  if (part < size && output.may_leave) std::longjmp(output.out, 1);  // NOLINT(cert-err52-cpp)
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// Nothing with a destructor lives in this frame.
bool run(Demangler demangle, const char* mangled, Output& output) {
  output.size = 0;
  if (setjmp(output.out) != 0) return true;  // NOLINT(cert-err52-cpp)
  return demangle(mangled, DMGL_NO_RECURSE_LIMIT, take_text, &output) != 0 && output.size > 0;
}

// Rust's names of other alphabets are decoded on the heap; those that could become endless too are not
// demangled. With this number of references the text has at most some 1.45^24 times the length of the name.
bool rust_may_be_endless(std::string_view mangled) {
  constexpr std::ptrdiff_t kMostReferences = 24;
  return std::ranges::count(mangled, 'B') > kMostReferences;
}

bool has_other_alphabets(std::string_view mangled) {
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i) {
    if (mangled[i] == 'u' && std::isdigit(static_cast<unsigned char>(mangled[i + 1])) != 0) return true;
  }
  return false;
}

// "" where it is no name of these languages. Without the option for parameters the library leaves out the
// return type too.
std::string demangled(const std::string& mangled) {
  const bool rust = mangled.starts_with("_R");
  if (!rust && !mangled.starts_with("_Z")) return {};
  if (mangled.size() > kLongestMangled) return {};
  const bool other = rust && has_other_alphabets(mangled);
  if (other && rust_may_be_endless(mangled)) return {};
  Output output;
  output.may_leave = !other;
  if (!run(rust ? rust_demangle_callback : cplus_demangle_v3_callback, mangled.c_str(), output)) return {};
  return {output.text, output.size};
}

}  // namespace

std::string readable_name(const std::string& linker_name) {
  // perf's own names for entries of the linkage table.
  const bool linkage = linker_name.ends_with("@plt");
  std::string mangled = linkage ? linker_name.substr(0, linker_name.size() - 4) : linker_name;
  if (const std::size_t version = mangled.find('@'); version != std::string::npos && version != 0)
    mangled.resize(version);
  const bool cpp = mangled.starts_with("_Z"), rust = mangled.starts_with("_R");
  if (!cpp && !rust) return linkage ? mangled + "@plt" : linker_name;
  std::string name, suffix;
  // Rust's older names look like C++, and have points in them.
  if (const auto legacy = mangled.size() > kLongestMangled ? std::nullopt : rust_legacy_name(mangled)) {
    name = legacy->name.substr(0, kLongestShown);
    suffix = legacy->rest;
  } else {
    const std::size_t clone = std::min(mangled.find('.', cpp ? mangled.rfind('E') + 1 : 0), mangled.size());
    name = demangled(mangled.substr(0, clone));
    suffix = mangled.substr(clone);
  }
  if (name.empty()) return linker_name;
  // What compilers put behind the name of a part of a function.
  if (!suffix.empty()) suffix = " [clone " + suffix + "]";
  return name + suffix + (linkage ? "@plt" : "");
}

}  // namespace tailor::query
