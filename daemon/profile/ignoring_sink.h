// Does nothing with any call. A sink that needs a few of them overrides these.
#pragma once

#include "daemon/profile/sink.h"

namespace tailor::profile {

// Not for a sink that keeps a profile: a call that is new in ProfileSink would be lost there without a word.
class IgnoringSink : public ProfileSink {
 public:
  void on_recording(const RecordingInfo&) override {}
  void on_process(const ProcessRecord&) override {}
  void on_thread(ProcessId, std::int32_t, const std::string&) override {}
  void on_component(ProcessId, std::uint32_t, const std::string&) override {}
  void on_region_kind(ProcessId, const v1::RegionKind&) override {}
  void on_plan(ProcessId, TimeNs, const v1::Plan&) override {}
  void on_code(ProcessId, TimeNs, const v1::CodeObject&) override {}
  void on_code_unload(ProcessId, TimeNs, CodeId) override {}
  void on_execution(const ExecutionRecord&) override {}
  void on_samples(std::span<const SampleRecord>) override {}
  void on_activity(std::span<const ActivityRecord>) override {}
  void on_accounting(const Accounting&) override {}
  void on_watermark(TimeNs) override {}
};

}  // namespace tailor::profile
