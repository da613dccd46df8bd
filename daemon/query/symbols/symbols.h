// The names of functions, for reports on the host that has the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/profile/records.h"
#include "daemon/query/code/code_timelines.h"
#include "daemon/query/symbols/elf_functions.h"
#include "daemon/query/symbols/function_names.h"
#include "daemon/query/symbols/stored_names.h"
#include "proto/base/result.h"

namespace tailor::query {

// Some of the reasons why nothing names it; kNoSymbol is another one.
inline constexpr const char* kNoNames =
    "the file had no names, or was gone or another one when the recording ended";
inline constexpr const char* kNoRoom =
    "the profile had no room for all names, and does not say which file ran";

// What is known of the file that was mapped.
RecordedFile recorded_file(const profile::RecordingInfo& info, const CodeFile& file);

// Names by the profile itself, else by the files, else by what is kept of them (symbol_cache()), else by what
// debug_finder() has of them. Reads every file once. One thread.
class Symbols {
 public:
  // `stored` must outlive it. Functions without a name get one by their `setters` (set_functions.h).
  explicit Symbols(const StoredNames& stored, std::vector<std::string> setters = {})
      : stored_(stored), setters_(std::move(setters)) {}

  // The function at that offset of a file. None where the file is another one than was recorded.
  NamedCode function(const std::string& path, std::uint64_t file_offset, const RecordedFile& recorded = {});
  // "memcpy (libc.so.6)", else "libc.so.6+0x1a2b".
  std::string name(const std::string& path, std::uint64_t file_offset, const RecordedFile& recorded = {});

 private:
  struct File {
    std::unique_ptr<FunctionNames> names;  // NULL: cannot be read, for this reason
    std::string why;
    bool asked_cache = false;
    std::optional<StoredNames> cached;  // nothing: it keeps none
    bool asked_finder = false;
    std::unique_ptr<FunctionNames> fetched;  // NULL: it has none, for this reason
    std::string why_not_fetched;
  };
  NamedCode in_cache(File& file, const std::string& id, std::uint64_t file_offset) const;
  NamedCode fetched(File& file, const std::string& path, std::uint64_t file_offset,
                    const RecordedFile& recorded, NamedCode here) const;
  NamedCode in_file(const std::string& path, std::uint64_t file_offset, const RecordedFile& recorded);

  const StoredNames& stored_;
  std::vector<std::string> setters_;
  std::map<std::pair<std::string, std::string>, File> files_;
};

// Where the kernel that runs here says what it is. Tests have others.
struct KernelAt {
  std::filesystem::path proc = "/proc", sys = "/sys";
};

// The functions of a kernel, by address.
class KernelNames {
 public:
  struct Function {
    std::string_view name;      // "" unknown
    std::string_view object;    // "[kernel]", or a module: "[ext4]"
    std::uint64_t begin = 0;    // of the function
    std::string_view why = {};  // nothing names it
    std::uint64_t end = 0;      // of the function
  };
  // From the text of /proc/kallsyms; lines that make no sense, and hidden addresses, are left out.
  static KernelNames parse(std::string_view kallsyms);
  // Those of the kernel that runs here, as far as it is the one of the recording: of the same release and
  // build, and with its code at the same addresses. Names of modules only if it has not been booted since.
  // Else none, with the reason.
  static KernelNames of_recording(const profile::RecordingInfo& info, const KernelAt& where = {});
  static KernelNames none(std::string why);

  // A function ends where the next symbol begins, and where its object ends.
  Function at(std::uint64_t address) const;
  // Whether a symbol is where RecordingInfo::kernel_anchor says.
  bool fits(const std::string& anchor) const;
  bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    std::uint64_t address, end;  // end == address: a mark, or data
    std::uint32_t name, object;  // into text_ and objects_
  };
  void add_line(std::string_view line, std::map<std::string, std::uint32_t, std::less<>>& objects);
  void find_ends();
  std::uint64_t address_of(std::string_view symbol) const;  // of the kernel itself; 0: there is none

  std::vector<Symbol> symbols_;  // by address
  std::string text_;             // names, each with a 0 behind
  std::vector<std::string> objects_;
  bool with_modules_ = true;
  std::string why_;  // there are none
};

}  // namespace tailor::query
