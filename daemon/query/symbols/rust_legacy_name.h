// The older mangling of Rust's names: a path of C++'s mangling whose last element is a hash, and in whose
// other elements "$" and "." stand for what an identifier of C++ cannot have (rustc,
// compiler/rustc_symbol_mangling, legacy.rs; rustc-demangle, legacy.rs).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tailor::query {

struct RustLegacyName {
  std::string name;       // UTF-8, without the hash
  std::string_view rest;  // of the mangled name: what compilers put behind it, begins with "." or is empty
};

// Nothing where it is no such name. A plain name of C++ can look like one: the last element has to be "h" and
// 16 small hexadecimal digits, at least five of them different, as GNU's and perf's demanglers ask for.
// Everything behind a "$" that begins no escape is text, as rustc-demangle has it. Work and text grow with
// the name's length only: the text is at most one and a half times as long.
std::optional<RustLegacyName> rust_legacy_name(std::string_view mangled);

}  // namespace tailor::query
