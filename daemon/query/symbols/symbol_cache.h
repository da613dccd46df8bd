// The functions of files that were recorded, in a folder of the user: for reports that name more than a
// profile carries, when the file is gone or another one has its path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "daemon/profile/records.h"
#include "daemon/query/symbols/elf_functions.h"

namespace tailor::query {

struct SymbolCacheLimits {
  std::uint64_t bytes = std::uint64_t{256} << 20;    // of all files: those that nobody asked for longest go
  std::uint64_t one_file = std::uint64_t{32} << 20;  // a larger one is not kept
  std::size_t functions = std::size_t{1} << 20;      // of one file: what is behind is not kept
};

// A file for each id of a file (proto/base/file_id.h): a mark, the SHA-256 of the rest, and v1::FileNames.
// Any threads and programs of the user may work in the folder at once.
class SymbolCache {
 public:
  using Limits = SymbolCacheLimits;
  explicit SymbolCache(std::filesystem::path folder, Limits limits = {});
  // In $XDG_CACHE_HOME/tailor/symbols, else ~/.cache/tailor/symbols. Nothing: TAILOR_SYMBOL_CACHE is "off",
  // there is no such place, or it is another user's.
  static std::optional<SymbolCache> of_user();

  // Keeps them, unless as many of that id are kept already. It may fail to keep them: nobody depends on it.
  void keep(const std::string& file_id, const ElfFunctions& file) const;
  // Nothing: it is not there, or damaged, or was written by another user.
  std::optional<profile::FileNames> find(const std::string& file_id) const;

  struct Usage {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
  };
  Usage usage() const;
  const std::filesystem::path& folder() const { return folder_; }
  const Limits& limits() const { return limits_; }

 private:
  bool make_folder() const;
  bool is_own() const;
  std::filesystem::path path_of(const std::string& file_id) const;  // empty: no such file can be
  void bound() const;

  std::filesystem::path folder_;
  Limits limits_;
};

// What reports and recordings of this program use; NULL: none.
const SymbolCache* symbol_cache();
// Once, before threads begin that may ask.
void use_symbol_cache(std::optional<SymbolCache> cache);

}  // namespace tailor::query
