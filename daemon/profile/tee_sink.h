// Gives every call of a sink to several, in order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"

namespace tailor::profile {

class TeeSink : public ProfileSink {
 public:
  // They must outlive it.
  explicit TeeSink(std::vector<ProfileSink*> to) : to_(std::move(to)) {}

  void on_recording(const RecordingInfo& v) override { all(&ProfileSink::on_recording, v); }
  void on_process(const ProcessRecord& v) override { all(&ProfileSink::on_process, v); }
  void on_thread(ProcessId p, std::int32_t tid, const std::string& v) override {
    all(&ProfileSink::on_thread, p, tid, v);
  }
  void on_component(ProcessId p, std::uint32_t id, const std::string& v) override {
    all(&ProfileSink::on_component, p, id, v);
  }
  void on_mapping(const MappingRecord& v) override { all(&ProfileSink::on_mapping, v); }
  void on_names(const FileNames& v) override { all(&ProfileSink::on_names, v); }
  void on_region_kind(ProcessId p, const v1::RegionKind& v) override {
    all(&ProfileSink::on_region_kind, p, v);
  }
  void on_plan(ProcessId p, TimeNs t, const v1::Plan& v) override { all(&ProfileSink::on_plan, p, t, v); }
  void on_code(ProcessId p, TimeNs t, const v1::CodeObject& v) override {
    all(&ProfileSink::on_code, p, t, v);
  }
  void on_shared_plan(ProcessId p, TimeNs t, std::shared_ptr<const v1::Plan> v) override {
    all(&ProfileSink::on_shared_plan, p, t, v);
  }
  void on_shared_code(ProcessId p, TimeNs t, std::shared_ptr<const v1::CodeObject> v) override {
    all(&ProfileSink::on_shared_code, p, t, v);
  }
  void on_code_unload(ProcessId p, TimeNs t, CodeId v) override {
    all(&ProfileSink::on_code_unload, p, t, v);
  }
  void on_execution(const ExecutionRecord& v) override { all(&ProfileSink::on_execution, v); }
  void on_samples(std::span<const SampleRecord> v) override { all(&ProfileSink::on_samples, v); }
  void on_activity(std::span<const ActivityRecord> v) override { all(&ProfileSink::on_activity, v); }
  void on_accounting(const Accounting& v) override { all(&ProfileSink::on_accounting, v); }
  void on_watermark(TimeNs v) override { all(&ProfileSink::on_watermark, v); }

 private:
  template <typename Method, typename... Values>
  void all(Method method, const Values&... values) {
    for (ProfileSink* to : to_) (to->*method)(values...);
  }

  std::vector<ProfileSink*> to_;
};

}  // namespace tailor::profile
