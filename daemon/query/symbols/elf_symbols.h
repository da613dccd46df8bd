// What the symbols of a file say about its functions, from all the tables that there are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/query/symbols/elf_file.h"
#include "daemon/query/symbols/found_functions.h"

namespace tailor::query {

class SymbolSet {
 public:
  // The first table of that type (SHT_SYMTAB, SHT_DYNSYM) whose names can be read: a file has one. Symbols of
  // code count, whatever their type: assemblers write none, and compilers of other languages than C call code
  // an object.
  void add_table(const ElfFile& file, std::uint32_t type);
  // `end` 0: where the next one begins, or its section ends.
  void add(std::uint64_t begin, std::uint64_t end, std::string name);
  // By begin, one for each begin. No function is longer than its section, and one without a size ends where
  // the next begins. `file` has the sections.
  std::vector<ElfFunction> take(const ElfFile& file);

  bool empty() const { return all_.empty(); }

 private:
  // One of several at an address.
  struct Candidate {
    ElfFunction function;
    unsigned binding = 0;
    bool sized = false;
    bool label = false;  // without a type, and known in its file only
  };
  // A table of symbols can name the same text as often as it likes.
  static constexpr std::size_t kMostFunctions = std::size_t{1} << 21;
  static constexpr std::size_t kMostNames = std::size_t{256} << 20;  // bytes

  static bool better(const Candidate& a, const Candidate& b);
  bool full() const { return all_.size() >= kMostFunctions || names_ >= kMostNames; }
  void add(Candidate candidate);

  std::map<std::uint64_t, Candidate> all_;
  std::size_t names_ = 0;
};

// A longer name is cut.
std::string symbol_name(const std::vector<char>& names, std::size_t at);

}  // namespace tailor::query
