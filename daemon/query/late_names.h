// Names of generated code that became known after samples in it had been taken: a perf map that is written
// when its process ends, a jitdump that was found late. The samples wait as addresses; this gives them what
// attribution would have said.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::query {

// First everything that was said, then questions. One thread.
class LateNames {
 public:
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code);
  bool empty() const { return processes_.empty(); }
  std::size_t bytes() const { return bytes_; }  // of memory, about

  // Gives `sample` the name of its address where that has come late, and takes back one of a perf map where
  // the address had two. True if it was unattributed and is no longer.
  //
  // Code of a jitdump counts from its load until other code is loaded over it. A perf map has no times: its
  // names count for the whole life of the process, as inferred; what had two is owned by nobody, for that
  // reason.
  bool apply(profile::SampleRecord& sample);

  // The code object that held the address, for the frames of call chains; 0: it had two names. Nothing: none.
  std::optional<CodeId> code_at(ProcessId process, std::uint64_t address, TimeNs time);
  bool knows(ProcessId process) const { return processes_.contains(process); }

 private:
  struct Row {
    std::uint32_t offset, link;
    profile::Quality quality;
  };
  struct Code {
    CodeId id = 0;
    PlanId plan = 0;
    TimeNs loaded = kTimeMin;
    std::uint64_t begin = 0, end = 0;
    std::uint32_t name = 0;  // numbers of names, for comparison
    LevelIndex level = 0;
    std::vector<Row> rows;
  };
  // A piece of the address space, and the pieces of code that were ever there.
  struct Span {
    std::uint64_t begin = 0, end = 0;
    std::vector<std::uint32_t> codes;  // by load; of a perf map in the order of the file
    bool two_names = false;            // of a perf map
  };
  struct Process {
    std::vector<Code> codes;
    std::vector<Span> spans;  // by begin, disjoint; made of `codes` at the first question
    bool settled = false;
    bool untimed = false;
  };
  struct Found {
    const Code* code;
    bool two_names;
  };

  static void settle(Process& process);
  std::optional<Found> find(ProcessId process, std::uint64_t address, TimeNs time);
  static void name(const Found& found, std::uint64_t address, profile::How how,
                   profile::Attribution& attribution);

  std::map<ProcessId, Process> processes_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::size_t bytes_ = 0;
};

}  // namespace tailor::query
