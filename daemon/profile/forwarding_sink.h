// Gives every call to another sink. What looks at some calls, changes them or holds them back overrides
// these.
#pragma once

#include "daemon/profile/sink.h"

namespace tailor::profile {

// on_shared_plan() and on_shared_code() come as on_plan() and on_code(), so overriding these is enough.
class ForwardingSink : public ProfileSink {
 public:
  // `out` must outlive it.
  explicit ForwardingSink(ProfileSink& out) : out_(out) {}

  void on_recording(const RecordingInfo& v) override { out_.on_recording(v); }
  void on_process(const ProcessRecord& v) override { out_.on_process(v); }
  void on_thread(ProcessId p, std::int32_t tid, const std::string& v) override { out_.on_thread(p, tid, v); }
  void on_component(ProcessId p, std::uint32_t id, const std::string& v) override {
    out_.on_component(p, id, v);
  }
  void on_mapping(const MappingRecord& v) override { out_.on_mapping(v); }
  void on_names(const FileNames& v) override { out_.on_names(v); }
  void on_region_kind(ProcessId p, const v1::RegionKind& v) override { out_.on_region_kind(p, v); }
  void on_plan(ProcessId p, TimeNs t, const v1::Plan& v) override { out_.on_plan(p, t, v); }
  void on_code(ProcessId p, TimeNs t, const v1::CodeObject& v) override { out_.on_code(p, t, v); }
  void on_code_unload(ProcessId p, TimeNs t, CodeId v) override { out_.on_code_unload(p, t, v); }
  void on_execution(const ExecutionRecord& v) override { out_.on_execution(v); }
  void on_samples(std::span<const SampleRecord> v) override { out_.on_samples(v); }
  void on_activity(std::span<const ActivityRecord> v) override { out_.on_activity(v); }
  void on_accounting(const Accounting& v) override { out_.on_accounting(v); }
  void on_watermark(TimeNs v) override { out_.on_watermark(v); }

 protected:
  ProfileSink& out_;
};

}  // namespace tailor::profile
