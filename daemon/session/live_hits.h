// Where samples and their callers are in files and in the kernel, while a recording runs: each place once.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/process/file_ranges.h"
#include "daemon/profile/ignoring_sink.h"

namespace tailor::session {

// As it was mapped, or profile::kKernelPath.
struct NamedFile {
  std::string path, build_id;
  auto operator<=>(const NamedFile&) const = default;
};

// Whose processes hit them: a user's number, or one of these.
inline constexpr std::uint32_t kNobodyKnown = UINT32_MAX;
inline constexpr std::uint32_t kOfKernel = UINT32_MAX - 1;

// Hears a recording beside the store. One thread. Bounded: a user may have as many places noted as are still
// free; of what exceeds that nothing is noted.
class LiveHits : public profile::IgnoringSink {
 public:
  struct Limits {
    std::size_t places = std::size_t{1} << 18;
  };
  // `segment`: the number of the data segment that samples go to. With another one all places are noted
  // again.
  using Segment = std::function<std::uint64_t()>;
  LiveHits(Limits limits, Segment segment)
      : limits_(limits), find_segment_(std::move(segment)), segment_(find_segment_()) {}

  // The file that the process has mapped there now, and the user of a process. Before the first sample.
  using FindFile = std::function<std::optional<process::FileRanges::At>(ProcessId, std::uint64_t address)>;
  using FindUser = std::function<std::uint32_t(ProcessId)>;
  void begin(FindFile find_file, FindUser find_user);

  void on_recording(const profile::RecordingInfo& info) override { info_ = info; }
  void on_process(const profile::ProcessRecord& process) override { changed(process.process); }
  void on_mapping(const profile::MappingRecord& mapping) override { changed(mapping.process); }
  void on_samples(std::span<const profile::SampleRecord> samples) override;
  // Behind the store, which may have begun another segment.
  void on_watermark(TimeNs) override {
    if (const std::uint64_t segment = find_segment_(); std::exchange(segment_, segment) != segment) forget();
  }

  const profile::RecordingInfo& info() const { return info_; }

  // What a user's processes hit first since the last call: offsets in files, addresses of the kernel.
  using Hits = std::map<std::pair<NamedFile, std::uint32_t>, std::vector<std::uint64_t>>;
  Hits take();

 private:
  // What was looked up lately, by what it was looked up for: most addresses come again and again.
  static constexpr std::size_t kSeen = std::size_t{1} << 16;
  static constexpr std::size_t kChanges = 4096;

  void forget();
  void changed(ProcessId process) { ++changes_[hash_of(process) % kChanges]; }
  static std::uint64_t hash_of(ProcessId process);
  bool saw(std::uint64_t key);
  void note(const profile::SampleRecord& sample);
  void note_user(ProcessId process, std::uint64_t address);
  void note_kernel(std::uint64_t address);
  std::uint32_t user_of(ProcessId process);
  void add(NamedFile file, std::uint32_t user, std::uint64_t offset);

  const Limits limits_;
  const Segment find_segment_;
  std::uint64_t segment_;
  FindFile find_file_;
  FindUser find_user_;
  std::pair<ProcessId, std::uint32_t> last_user_ = {{}, kNobodyKnown};
  profile::RecordingInfo info_;
  std::vector<std::uint64_t> seen_ = std::vector<std::uint64_t>(kSeen);
  std::vector<std::uint32_t> changes_ = std::vector<std::uint32_t>(kChanges);  // of processes, by hash
  const profile::StackFrame* last_stack_ = nullptr;                            // of the call at work
  ProcessId last_process_ = {};
  std::map<Hits::key_type, std::unordered_set<std::uint64_t>> noted_;
  std::map<std::uint32_t, std::size_t> users_;  // how many of them
  std::size_t places_ = 0;
  Hits fresh_;
};

}  // namespace tailor::session
