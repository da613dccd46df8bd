// Whose code was where and when, in all processes of a profile: reports, places and exports ask here.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/profile/records.h"
#include "daemon/query/code/code_timeline.h"
#include "proto/base/ids.h"

namespace tailor::query {

// Files by their path; one path may be two files.
struct CodeFile {
  std::string path;      // as the process saw it, or the kernel's name in brackets
  std::string build_id;  // proto/base/file_id.h
  TimeNs mapped = 0;     // when it was first seen
};

// One thread. Bounded: see CodeTimeline.
class CodeTimelines {
 public:
  CodeTimelines() = default;
  CodeTimelines(const CodeTimelines&) = delete;  // the timelines share a budget
  CodeTimelines& operator=(const CodeTimelines&) = delete;

  void on_process(const profile::ProcessRecord& process);
  void on_mapping(const profile::MappingRecord& mapping);
  // `code` is of an agent.
  void on_code(ProcessId process, TimeNs loaded, CodeId code, std::uint64_t begin, std::uint64_t size);
  void on_code_unload(ProcessId process, TimeNs time, CodeId code);

  struct Found {
    CodeTimeline::State state;
    ProcessId of_code = {};  // whose code object it is: the process's, or one's it was forked off
  };
  // Whether a code object of the process itself was at `address` at any time.
  bool had_code(ProcessId process, std::uint64_t address) const;
  // A forked child has what its parent had by then.
  Found find(ProcessId process, std::uint64_t address, TimeNs time);
  // What the kernel had loaded there while it ran; kUnknown: nothing, as far as was told.
  CodeTimeline::State find_loaded_by_kernel(std::uint64_t address, TimeNs time);

  // A process and those it was forked off, with the times up to which they count for it.
  std::vector<std::pair<ProcessId, TimeNs>> line_of(ProcessId process, TimeNs time) const;

  // For an address without a time: what was mapped there, the only thing that ever was.
  struct Only {
    MappedCode mapped;     // kUnknown: nothing was told
    bool several = false;  // one thing after the other: then `mapped` is the last
  };
  Only only_at(ProcessId process, std::uint64_t address) const;

  const std::vector<CodeFile>& files() const { return files_; }
  // Whether something was told that counts from before a time that was asked about: the answer was another
  // one then.
  bool told_late() const { return told_late_; }
  // Before addresses of a sample of `time` are looked up, or answers that were kept are taken. Returns what
  // changes with everything that is told of the process and of those it was forked off.
  std::uint64_t ask(ProcessId process, TimeNs time);
  std::size_t bytes() const;  // of memory, about

 private:
  static constexpr int kMostAncestors = 16;
  static constexpr std::size_t kMostEntries = std::size_t{1} << 22;

  struct Process {
    explicit Process(std::size_t& budget) : timeline(budget) {}
    CodeTimeline timeline;
    ProcessId parent = {};
    TimeNs forked = 0;
    TimeNs asked = kTimeMin;  // the newest time
    std::uint64_t program_begin = UINT64_MAX;
    std::uint32_t program = UINT32_MAX;
    bool begun = false;  // what it maps first is its program
    std::uint64_t version = 0;
  };
  Process& of(ProcessId process);
  void told(Process& process, TimeNs from);
  std::uint32_t number_of(const profile::MappingRecord& mapping);
  std::optional<CodeTimeline::State> find(const Process& process, std::uint64_t address, TimeNs time,
                                          int generation) const;

  std::size_t budget_ = kMostEntries;
  std::map<ProcessId, Process> processes_;
  std::vector<CodeFile> files_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> file_numbers_;
  bool told_late_ = false;
};

}  // namespace tailor::query
