// Adds samples up by the code they were in and the call chain that led there.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/query/cell.h"
#include "daemon/query/late_names.h"
#include "proto/base/ids.h"

namespace tailor::query {

// One address of code, as far from its process as it can be said.
struct CodePlace {
  enum class Kind : std::uint8_t {
    kUnknown,  // of `process`: in no file, and nobody's
    kFile,     // `address` is an offset in `file`
    kKernel,
    kGenerated,  // in the code object `code` of `process`
    kTwoNames,   // generated code of `process` whose address had two names
    kTooMany,    // places beyond the limit
  };
  Kind kind = Kind::kUnknown;
  std::uint32_t file = 0;
  ProcessId process = {};
  CodeId code = 0;
  std::uint64_t address = 0;
  auto operator<=>(const CodePlace&) const = default;
};

// Files by their path; one path may be two files.
struct CodeFile {
  std::string path;      // as the process saw it, or the kernel's name in brackets
  std::string build_id;  // in hexadecimal, "" unknown
  TimeNs mapped = 0;     // when it was first seen
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

// One thread. Bounded: what exceeds the limits goes to one place, or keeps the innermost part of its chain.
class FunctionSummer {
 public:
  // `names`, if any, must outlive it.
  explicit FunctionSummer(LateNames* names = nullptr);

  void on_process(const profile::ProcessRecord& process);
  void on_mapping(const profile::MappingRecord& mapping);
  void on_code(ProcessId process, CodeId code, std::uint64_t begin, std::uint64_t size);
  // The node of its innermost frame.
  std::uint32_t add(const profile::SampleRecord& sample);
  FunctionSums take();
  std::size_t bytes() const;  // of memory, about

 private:
  struct Range {
    std::uint64_t end, file_offset;
    std::uint32_t file;
    TimeNs time;
  };
  struct Code {
    std::uint64_t end;
    CodeId id;
  };
  struct Process {
    std::map<std::uint64_t, Range> mapped;  // by begin, disjoint
    std::map<std::uint64_t, Code> code;
    std::unordered_map<std::uint64_t, std::uint32_t> known;  // address -> place, while nothing changes
    ProcessId parent = {};
    TimeNs forked = 0;
  };

  void forget_known(Process& process);
  std::uint32_t place_of(ProcessId id, Process& process, std::uint64_t address, TimeNs time);
  const Range* find_mapping(const Process& process, std::uint64_t address, std::uint64_t& begin) const;
  std::uint32_t intern(const CodePlace& place);
  std::uint32_t node_of(std::uint32_t caller, std::uint32_t place);

  LateNames* names_;
  std::size_t ranges_ = 0;  // of mappings and code
  std::size_t known_ = 0;   // addresses whose place is known, of all processes
  std::map<ProcessId, Process> processes_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> file_numbers_;
  std::map<CodePlace, std::uint32_t> place_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> node_numbers_;  // caller << 32 | place
  std::vector<std::uint32_t> chain_;                               // of one sample
  FunctionSums sums_;
};

}  // namespace tailor::query
