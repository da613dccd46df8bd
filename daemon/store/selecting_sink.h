// Passes on what concerns one process in a span of time: a file of its own out of a store.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/profile/forwarding_sink.h"

namespace tailor::store {

class SelectingSink : public profile::ForwardingSink {
 public:
  // Samples and activity of [from, to], and everything else that is said of `process`; names of files, which
  // anybody may have mapped. Of `parents`, which it was forked off, what names the code that it has from
  // them. `out` must outlive it.
  SelectingSink(profile::ProfileSink& out, ProcessId process, TimeNs from, TimeNs to,
                std::vector<ProcessId> parents = {})
      : ForwardingSink(out), process_(process), from_(from), to_(to), parents_(std::move(parents)) {}

  void on_process(const profile::ProcessRecord& process) override;
  void on_thread(ProcessId process, std::int32_t tid, const std::string& name) override;
  void on_component(ProcessId process, std::uint32_t id, const std::string& name) override;
  void on_mapping(const profile::MappingRecord& mapping) override;
  void on_region_kind(ProcessId process, const v1::RegionKind& kind) override;
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override;
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override;
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override;
  // Those that overlap the span.
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;
  void on_activity(std::span<const profile::ActivityRecord> records) override;
  void on_accounting(const profile::Accounting& accounting) override;
  void on_watermark(TimeNs watermark) override;

 private:
  bool is_parent(ProcessId process) const { return std::ranges::find(parents_, process) != parents_.end(); }
  bool inside(ProcessId process, TimeNs time) const {
    return process == process_ && time >= from_ && time <= to_;
  }

  ProcessId process_;
  TimeNs from_, to_;
  std::vector<ProcessId> parents_;
};

}  // namespace tailor::store
