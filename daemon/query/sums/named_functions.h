// Gives the places of code that a profile's samples were in the names of their functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/profile.h"

namespace tailor::query {

struct Function {
  enum class Kind : std::uint8_t { kUser, kKernel, kGenerated, kUnknown };
  Kind kind = Kind::kUser;
  std::string name;         // "": nothing names it (a stripped file, code that is gone)
  std::string object;       // "libc.so.6", "[kernel]", "[jit]"; "": in no file
  std::string why = {};     // why nothing names it
  std::string source = {};  // the source file, where the name is known there only; as the compiler had it
  // Of the function, in its file or kernel: two functions of one name are two. 0 without a name, and for
  // generated code, which may be made again.
  std::uint64_t begin = 0;
  auto operator<=>(const Function&) const = default;
};

// As reports have it: "[unknown]" where nothing names it.
inline std::string shown_name(const Function& function) {
  return function.name.empty() ? "[unknown]" : function.name;
}
// "user", "kernel", "generated", "unknown".
std::string_view function_kind_key(Function::Kind kind);
// "libc.so.6+0x1a2b", with the offset in the file; "0xffffffff81000000" of what is in no file.
std::string place_name(const CodePlace& place, const Function& function);

// Where names are looked for.
enum class NamesFrom : std::uint8_t {
  kFilesToo,  // in files, and in the symbols of the kernel, of this host: as far as they are those that ran
  kProfile,   // nothing is opened
};

class NamedFunctions {
 public:
  // Functions without a name get one by their `setters` (set_functions.h).
  explicit NamedFunctions(const Profile& profile, const std::vector<std::string>& setters = {},
                          NamesFrom from = NamesFrom::kFilesToo);

  std::uint32_t of_place(std::uint32_t place) const { return of_place_[place]; }
  // Puts the functions of a call chain into `chain`, innermost first: those of a node of the profile and of
  // its callers. Of a chain that is deeper than kMostDepth, the inner part.
  void chain_of(const FunctionSums& sums, std::uint32_t node, std::vector<std::uint32_t>& chain) const;
  static constexpr std::size_t kMostDepth = 512;
  const Function& at(std::uint32_t function) const { return *functions_[function]; }
  std::size_t size() const { return functions_.size(); }

 private:
  std::vector<std::uint32_t> of_place_;
  std::map<Function, std::uint32_t> numbers_;
  std::vector<const Function*> functions_;
};

}  // namespace tailor::query
