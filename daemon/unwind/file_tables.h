// What files tell of stacks, shared by all processes of a user. A file is read when a stack needs it first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/unwind/cfi_work.h"
#include "daemon/unwind/elf_cfi.h"
#include "daemon/unwind/file_arguments.h"
#include "daemon/unwind/file_work.h"
#include "daemon/unwind/mapped_files.h"

namespace tailor::unwind {

// One thread. Processes of different users share nothing: who shows a file chooses its content and how long
// it takes to read it.
class FileTables {
 public:
  // Where a file may be found. Called where the file is read, so it refers to nothing that may go.
  using Paths = std::function<std::vector<std::string>()>;

  // Where files are read, see FileWork.
  explicit FileTables(FileWork::Run run = {}, WorkLimits limits = {}) : files_(std::move(run), limits) {}

  struct Found {
    bool opened = false;                  // else the file was not found
    std::shared_ptr<const ElfCfi> table;  // NULL: it has none
  };
  // Nothing: it is being read, or its user has asked for too much. files() knows that the walk lacks it.
  std::optional<Found> get(const std::string& file, std::uint32_t user, const Paths& paths);
  // The first arguments of the functions of a file with a table. NULL: too many files were asked for.
  std::shared_ptr<FileArguments> arguments(const std::string& file, std::uint32_t user, const Paths& paths,
                                           const std::shared_ptr<const ElfCfi>& table);

  FileWork& files() { return files_; }
  // Of all walks, one after the other.
  CfiWork& work() { return work_; }
  // Whether this many bytes of tables of registered code may be indexed now.
  bool may_index(std::size_t bytes, TimeNs now);
  MappedFiles::Budget& budget() { return budget_; }

  static constexpr std::size_t kMostOfAUser = 1024;
  // Bytes of tables of registered code that are indexed at a time, of all processes together.
  static constexpr std::size_t kMostIndexed = std::size_t{512} << 10;

 private:
  struct Read {
    Found found;
    std::size_t bytes() const { return found.table == nullptr ? 0 : found.table->bytes(); }
  };
  struct Share {
    std::size_t files = 0;          // in tables_
    TimeNs next_forget = kTimeMin;  // of those that nobody maps
  };
  using Key = std::pair<std::uint32_t, std::string>;
  bool has_room(std::uint32_t user);
  void forget_unused(std::uint32_t user, Share& share);

  static constexpr std::size_t kMostArguments = 64;  // files of a user
  FileWork files_;                                   // what follows refers to it
  std::map<Key, std::shared_ptr<FileArguments>> arguments_;
  std::map<Key, std::shared_ptr<Awaited<Read>>> tables_;
  std::map<std::uint32_t, Share> shares_;  // by user
  CfiWork work_;
  TimeNs index_since_ = kTimeMin;
  std::size_t indexed_ = 0;  // bytes, since then
  MappedFiles::Budget budget_;
};

}  // namespace tailor::unwind
