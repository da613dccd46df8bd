// Passes everything on, and notes what an importer wants to know of it.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/foreign/find_jitdump.h"
#include "daemon/profile/forwarding_sink.h"
#include "daemon/profile/mapped_kind.h"

namespace tailor::importer {

class ObservingSink : public profile::ForwardingSink {
 public:
  explicit ObservingSink(profile::ProfileSink& out) : ForwardingSink(out) {}

  // Files that are mapped by that path from now on are of that build.
  void add_build_id(const std::string& path, const std::string& id) {
    if (build_ids_.size() < kMostFiles) build_ids_.insert_or_assign(path, id);
  }

  TimeNs first_time() const { return first_; }  // of samples; kTimeMax: none
  TimeNs last_time() const { return last_; }
  std::uint64_t samples() const { return samples_; }
  // Processes that were sampled, and the jitdumps that processes mapped.
  const std::set<ProcessId>& processes() const { return processes_; }
  // No more of one than are read of any (foreign::kMostDumps), and one.
  const std::map<ProcessId, std::vector<std::string>>& jitdumps() const { return jitdumps_; }
  // When processes began, of those that began while it was recorded.
  const std::map<ProcessId, TimeNs>& forked() const { return forked_; }

  void on_process(const profile::ProcessRecord& process) override {
    if (process.forked != 0 && forked_.size() < kMostFiles)
      forked_.try_emplace(process.process, process.forked);
    out_.on_process(process);
  }
  void on_mapping(const profile::MappingRecord& mapping) override {
    const std::string name = mapping.path.substr(mapping.path.rfind('/') + 1);
    if (name.starts_with("jit-") && name.ends_with(".dump")) note_jitdump(mapping);
    const bool of_32_bits = mapping.path == profile::kVdsoPath && mapping.begin < kLowestOfWide;
    const auto known = build_ids_.find(of_32_bits ? kVdsoOf32Bits : mapping.path);
    if (!mapping.build_id.empty() || known == build_ids_.end()) return out_.on_mapping(mapping);
    profile::MappingRecord with_id = mapping;
    with_id.build_id = known->second;
    out_.on_mapping(with_id);
  }
  void on_samples(std::span<const profile::SampleRecord> samples) override {
    samples_ += samples.size();
    for (const profile::SampleRecord& sample : samples) {
      first_ = std::min(first_, sample.time);
      last_ = std::max(last_, sample.time);
      if (sample.process == last_process_ || processes_.size() >= kMostFiles) continue;
      processes_.insert(last_process_ = sample.process);
    }
    out_.on_samples(samples);
  }
  // That of the whole file is not a time, nor is one from before all times.
  void on_watermark(TimeNs watermark) override {
    if (watermark < 0) return;
    out_.on_watermark(std::min(watermark, std::max(last_, TimeNs{0})));
  }

 private:
  void note_jitdump(const profile::MappingRecord& mapping) {
    if (jitdumps_.size() >= kMostFiles && !jitdumps_.contains(mapping.process)) return;
    std::vector<std::string>& of_process = jitdumps_[mapping.process];
    const bool known = std::ranges::find(of_process, mapping.path) != of_process.end();
    if (!known && of_process.size() <= foreign::kMostDumps) of_process.push_back(mapping.path);
  }

  // A process of 32 bits has another image of the kernel's code, in the lowest 4 GiB. The kernel calls it the
  // same, and perf does not.
  static constexpr const char* kVdsoOf32Bits = "[vdso32]";
  static constexpr std::uint64_t kLowestOfWide = std::uint64_t{1} << 32;

  static constexpr std::size_t kMostFiles = std::size_t{1} << 20;
  std::map<std::string, std::string> build_ids_;
  std::map<ProcessId, std::vector<std::string>> jitdumps_;
  std::map<ProcessId, TimeNs> forked_;
  std::set<ProcessId> processes_;
  ProcessId last_process_ = {-2, 0};
  TimeNs first_ = kTimeMax, last_ = kTimeMin;
  std::uint64_t samples_ = 0;
};

}  // namespace tailor::importer
