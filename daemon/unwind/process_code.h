// The code of one process, as far as unwinding needs it: mapped files with their unwind tables, generated
// code with its own, and what its agent said of its tags.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/unwind/cfi_table.h"
#include "daemon/unwind/file_tables.h"
#include "daemon/unwind/file_work.h"
#include "daemon/unwind/first_argument.h"
#include "daemon/unwind/frame.h"
#include "daemon/unwind/mapped_files.h"
#include "daemon/unwind/walk_end.h"
#include "proto/base/ids.h"

namespace tailor::unwind {

// Mapping::file from what a record of the kernel has: device and inode, or a build id in hexadecimal.
std::string file_of(std::uint32_t device_major, std::uint32_t device_minor, std::uint64_t inode);
std::string file_with(std::string_view build_id);

// Executable file mappings in the text of /proc/PID/maps. Lines that make no sense are left out. Executable
// memory of no file is that of the file which is mapped right before and right behind it, at those very
// offsets: text that was moved to huge pages. Pure.
std::vector<Mapping> parse_maps(std::string_view text);

// What an agent says of a piece of code.
struct RegisteredCode {
  CodeId id = 0;
  std::uint64_t begin = 0, end = 0;
  bool of_plan = true;  // else shared code: it works for its callers
};

class ProcessCode {
 public:
  // Of the unwind table of one piece of registered code: some ten thousand functions.
  static constexpr std::size_t kMostOfATable = FileTables::kMostIndexed;

  ProcessCode(std::filesystem::path proc, std::int32_t pid, FileTables& files)
      : proc_(std::move(proc)),
        pid_(pid),
        folder_(proc_ / std::to_string(pid)),
        files_(files),
        mapped_(files.budget()) {}

  // Registered code. `eh_frame` may be empty. Replaces what lay there before. False: the code is known, and
  // its table is left out, because it has more bytes than kMostOfATable.
  bool add_code(const RegisteredCode& code, std::string_view eh_frame, std::uint64_t address);
  // It stays for samples that are on their way, until other code takes its place or there is too much of it.
  void remove_code(CodeId id);
  // None lies there any more.
  void forget_code(std::uint64_t begin, std::uint64_t end);
  // What it keeps of registered code.
  std::size_t bytes() const { return bytes_; }
  // Whether code of a plan lies there: it tells by itself whose the sample is.
  bool is_generated(std::uint64_t address) const {
    const Registered* code = registered_at(address);
    return code != nullptr && code->range.of_plan;
  }

  // What the kernel's records say, which is there when the process has ended already, and tells libraries
  // apart that were loaded one after the other at one address.
  void map(Mapping mapping);
  // Executable memory of no file.
  void map_anonymous(std::uint64_t begin, std::uint64_t end);
  // It executes another program.
  void forget_files();
  // It was forked off that one.
  void inherit_files(const ProcessCode& parent);

  // Whether code that was told of lies there.
  bool is_registered(std::uint64_t address) const { return registered_at(address) != nullptr; }

  // Before the first step of a stack; and whether its steps have cost so much that there should be no more.
  void begin_walk(TimeNs now);
  bool is_spent() const { return files_.work().is_spent(); }
  // Why the last step was refused.
  WalkEnd why_not() const { return lacks() ? WalkEnd::kUnread : files_.work().why(); }
  // Whether the walk lacks what a file says, which is not read yet; and who reads it, NULL: nobody does now.
  bool lacks() const { return files_.files().lacks(); }
  const std::shared_ptr<const Progress>& missing() const { return files_.files().missing(); }

  // Looks at /proc again at the next unknown address, but not before `interval` has passed. False also where
  // the walk lacks something.
  bool step(Frame& frame, bool exact, const StackView& stack, bool& signal, TimeNs now);

  // The first arguments in a mapped file. `bias`: from the file's addresses to the process's. Nothing where
  // step() finds no table, or where the walk lacks something.
  struct Argument {
    const FirstArgument* function = nullptr;  // valid until the next call
    std::uint64_t bias = 0;
  };
  Argument argument_at(std::uint64_t address);

 private:
  struct Registered {
    RegisteredCode range;
    std::string eh_frame;  // until a stack needs it; at `address`
    std::uint64_t address = 0;
    CfiTable table;  // of it, once one did
    std::size_t bytes = 0;
    bool removed = false;
  };
  using Code = std::map<std::uint64_t, Registered>;
  // At what is mapped.
  struct Look {
    std::vector<Mapping> mapped;
    std::filesystem::path folder;
    std::size_t bytes() const { return 0; }  // nothing of it is kept here
  };
  static Look look(const std::filesystem::path& folder, const std::filesystem::path& proc, std::int32_t pid);
  Code::iterator forget(Code::iterator at);
  void make_room(std::size_t bytes);

  const Registered* registered_at(std::uint64_t address) const;
  bool step_in_generated(const CfiTable& table, Frame& frame, bool exact, const StackView& stack,
                         bool& signal);
  const CfiTable* table_of(std::uint64_t address, TimeNs now);
  bool find_table(Mapping& mapping);
  void read_maps(TimeNs now);
  void take_look();
  std::uint32_t user();

  static constexpr std::size_t kMostRegistered = 65536;
  static constexpr std::size_t kMostRemoved = 1024;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  std::filesystem::path proc_;
  std::int32_t pid_;
  std::filesystem::path folder_;  // of the process, or of a thread of it that lives
  FileTables& files_;
  Code registered_;                                   // by begin
  std::unordered_map<CodeId, std::uint64_t> begins_;  // of those that were not removed
  std::deque<std::pair<CodeId, std::uint64_t>>
      removed_;  // with their begins, oldest first; some are replaced by now
  std::size_t bytes_ = 0;
  MappedFiles mapped_;
  std::uint64_t told_ = 0;        // how often records have told something of it
  std::uint32_t user_ = kNoUser;  // as of when it was needed last
  std::shared_ptr<Awaited<Look>> look_;
  std::uint64_t told_before_look_ = 0;
  bool must_look_ = true;  // nothing else tells what is mapped
  TimeNs next_look_ = kTimeMin;
};

}  // namespace tailor::unwind
