// Which functions of files, and of the kernel, samples were in and called from; and what they are called, by
// the files as they are when a recording ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/profile/ignoring_sink.h"
#include "daemon/query/code/code_timelines.h"
#include "daemon/query/symbols/symbol_cache.h"
#include "daemon/query/symbols/symbols.h"

namespace tailor::query {

// Where the file is found that was mapped by a path.
struct KeptFile {
  enum class Is : std::uint8_t {
    kNotKept,  // who asks must look at the path, and see whether it is the file that was mapped
    kKept,     // at `path`, whatever it was mapped by
    kLost,     // nothing leads to it: several files were mapped by that path, or it was gone too early
  };
  Is is = Is::kNotKept;
  std::string path = {};
  std::shared_ptr<const void> holds = {};  // as long as it lives, the file is at `path`
  // The root directory of its process, and the path there, where the process has another root or other mounts
  // than we; "": it has ours.
  std::string within = {}, within_as = {};
};
using FindKept = std::function<KeptFile(const std::string& path, const std::string& build_id)>;

// The functions of the file that hold these offsets. Without a path: the file cannot be read, so nothing can
// be said of it. Without functions: it has no names there, or nothing leads to it. `kept` may be empty: no
// file was kept. `cache`, unless NULL, keeps all functions of a file that has any of these. Reads the file:
// it may take long.
profile::FileNames names_of_file(const profile::RecordingInfo& info, const CodeFile& file,
                                 const std::unordered_set<std::uint64_t>& offsets, const FindKept& kept,
                                 const SymbolCache* cache = nullptr);
// The same of the kernel that runs here, as far as it is that of the recording.
profile::FileNames names_of_kernel(const profile::RecordingInfo& info,
                                   const std::unordered_set<std::uint64_t>& addresses,
                                   const KernelAt& at = {});

// Hears a recording beside its keeper. One thread. Bounded: of what exceeds the limits nothing is
// noted, and a report looks for the names itself.
class HitFunctions : public profile::IgnoringSink {
 public:
  explicit HitFunctions(KernelAt kernel_at = {}) : kernel_at_(std::move(kernel_at)) {}

  void on_recording(const profile::RecordingInfo& info) override { info_ = info; }
  void on_process(const profile::ProcessRecord& process) override { timelines_.on_process(process); }
  void on_mapping(const profile::MappingRecord& mapping) override { timelines_.on_mapping(mapping); }
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override;
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override {
    timelines_.on_code_unload(process, time, code);
  }
  void on_samples(std::span<const profile::SampleRecord> samples) override;

  // Reads the files, and the symbols of the kernel that runs here as far as it is that of the recording. A
  // file that cannot be read is left out; one without names of the functions that were hit has none.
  // `kept` may be empty: no file was kept. `cache`: as names_of_file() has it.
  std::vector<profile::FileNames> names(const FindKept& kept = {}, const SymbolCache* cache = nullptr) const;

 private:
  // The place of an address is noted within [from, until).
  struct Noted {
    TimeNs from, until;
  };
  struct Process {
    std::unordered_map<std::uint64_t, Noted> noted;  // by address, while nothing is told of the process
    std::uint64_t version = UINT64_MAX;              // of its timeline
  };
  void note(const profile::SampleRecord& sample);
  void note_user(ProcessId id, Process& process, std::uint64_t address, TimeNs time);
  void note_kernel(std::uint64_t address, TimeNs time);

  KernelAt kernel_at_;
  profile::RecordingInfo info_;
  CodeTimelines timelines_;
  std::map<ProcessId, Process> processes_;
  std::size_t noted_ = 0;                                                  // of all processes
  std::size_t hits_ = 0;                                                   // in files_ and kernel_
  std::map<std::uint32_t, std::unordered_set<std::uint64_t>> files_ = {};  // offsets
  std::unordered_set<std::uint64_t> kernel_;
};

}  // namespace tailor::query
