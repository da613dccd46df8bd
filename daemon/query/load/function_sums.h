// Adds samples up by the code they were in and the call chain that led there.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/query/code/code_timelines.h"
#include "daemon/query/load/cell.h"
#include "daemon/query/load/late_names.h"
#include "proto/base/ids.h"

namespace tailor::query {

// One address of code, as far from its process as it can be said.
struct CodePlace {
  enum class Kind : std::uint8_t {
    kUnknown,  // of `process`: in no file, and nobody's
    kFile,     // `address` is an offset in `file`
    kKernel,
    kKernelLoaded,  // by the kernel while it ran: `address` is an offset in it, `file` has its name
    kGenerated,     // at `address`, in the code object `code` of `process`
    kTwoNames,      // generated code of `process` whose address had two names
    kTooMany,       // places beyond the limit
  };
  Kind kind = Kind::kUnknown;
  std::uint32_t file = 0;
  ProcessId process = {};
  CodeId code = 0;
  std::uint64_t address = 0;
  auto operator<=>(const CodePlace&) const = default;
};

struct FunctionSums {
  struct Node {
    std::uint32_t caller;  // 0: outermost
    std::uint32_t place;
  };
  struct Key {
    std::uint32_t node;
    std::uint16_t source;
    ProcessId process;
    ExecutionHandle execution;
    auto operator<=>(const Key&) const = default;
  };
  using Cells = std::map<Key, Cell>;
  std::vector<CodeFile> files;
  std::vector<CodePlace> places;
  std::vector<Node> nodes;       // of a tree of call chains; node 0 is the root, which has no place
  Cells cells;                   // by the node of the innermost frame
  std::uint64_t with_chain = 0;  // samples that brought callers
};

// The code that a sample was in and called from, innermost first: kernel(address), leaf(address) of user
// code, caller(address) of user code. Callers are given by the call itself, not by what comes after it.
template <typename Kernel, typename Leaf, typename Caller>
void for_each_address(const profile::SampleRecord& sample, const Kernel& kernel, const Leaf& leaf,
                      const Caller& caller) {
  const bool in_kernel = sample.mode != profile::Mode::kUser;
  if (in_kernel) {
    kernel(sample.ip);
  } else {
    leaf(sample.ip);
  }
  const profile::StackFrame* frame = sample.stack;
  for (; frame != nullptr && profile::is_kernel_address(frame->address); frame = frame->caller)
    kernel(frame->address - 1);
  if (in_kernel && sample.user_ip != 0) leaf(sample.user_ip);
  for (; frame != nullptr; frame = frame->caller) caller(frame->address - 1);
}

// Whether the attribution itself says in which generated code the innermost user code lies.
inline bool is_in_code(const profile::Attribution& attribution) {
  return attribution.code != 0 && attribution.how != profile::How::kCallchain;
}

// One thread. Bounded: what exceeds the limits goes to one place, or keeps the innermost part of its chain.
class FunctionSummer {
 public:
  // `timelines` is told everything before the samples that it is for. Both must outlive it.
  explicit FunctionSummer(CodeTimelines& timelines, LateNames* names = nullptr);

  // The node of its innermost frame.
  std::uint32_t add(const profile::SampleRecord& sample);
  FunctionSums take();
  std::size_t bytes() const;  // of memory, about

 private:
  // A place holds within [from, until).
  struct Known {
    TimeNs from, until;
    std::uint32_t place;
  };
  struct Process {
    std::unordered_map<std::uint64_t, Known> known;  // by address, while nothing is told of the process
    std::uint64_t version = UINT64_MAX;              // of its timeline
    // It, and those it was forked off, of which names came late, with the times up to which they count.
    std::vector<std::pair<ProcessId, TimeNs>> named_late;
  };

  void refresh(ProcessId id, Process& process, TimeNs time);
  std::uint32_t place_of(ProcessId id, Process& process, std::uint64_t address, TimeNs time);
  std::uint32_t kernel_place_of(Process& kernel, std::uint64_t address, TimeNs time);
  template <typename LookUp>
  std::uint32_t remembered(Process& process, std::uint64_t address, TimeNs time, const LookUp& look_up);
  CodePlace look_up_kernel(std::uint64_t address, TimeNs time, Known& known);
  CodePlace look_up(ProcessId id, const Process& process, std::uint64_t address, TimeNs time, Known& known);
  std::uint32_t intern(const CodePlace& place);
  std::uint32_t node_of(std::uint32_t caller, std::uint32_t place);

  CodeTimelines& timelines_;
  LateNames* names_;
  std::size_t known_ = 0;  // addresses whose place is known, of all processes
  std::map<ProcessId, Process> processes_;
  std::map<CodePlace, std::uint32_t> place_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> node_numbers_;  // caller << 32 | place
  std::vector<std::uint32_t> chain_;                               // of one sample
  FunctionSums sums_;
};

}  // namespace tailor::query
