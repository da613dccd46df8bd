// A sink that writes down every call as a line of text, so that two profiles can be compared.
#pragma once

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/store/meta_codec.h"

namespace tailor::test {

class TextSink : public profile::ProfileSink {
 public:
  // In the order of the calls, but small records, samples and activity apart: a file may interleave them in
  // other ways than the pipeline did.
  std::vector<std::string> records, samples, activity;

  void on_recording(const profile::RecordingInfo& v) override { record<v1::Recording>("recording", v); }
  void on_process(const profile::ProcessRecord& v) override { record<v1::ProcessInfo>("process", v); }
  void on_execution(const profile::ExecutionRecord& v) override { record<v1::Execution>("execution", v); }
  void on_accounting(const profile::Accounting& v) override {
    record<v1::ProcessAccounting>("accounting", v);
  }
  void on_thread(ProcessId p, std::int32_t tid, const std::string& name) override {
    records.push_back(fmt::format("thread {} {} {}", p.pid, tid, name));
  }
  void on_component(ProcessId p, std::uint32_t id, const std::string& name) override {
    records.push_back(fmt::format("component {} {} {}", p.pid, id, name));
  }
  void on_mapping(const profile::MappingRecord& v) override { record<v1::MappedFile>("mapping", v); }
  void on_names(const profile::FileNames& v) override { record<v1::FileNames>("names", v); }
  void on_region_kind(ProcessId p, const v1::RegionKind& kind) override {
    records.push_back(fmt::format("region kind {} {}", p.pid, kind.ShortDebugString()));
  }
  void on_plan(ProcessId p, TimeNs loaded, const v1::Plan& plan) override {
    records.push_back(fmt::format("plan {} {} {}", p.pid, loaded, plan.ShortDebugString()));
  }
  void on_code(ProcessId p, TimeNs loaded, const v1::CodeObject& code) override {
    records.push_back(fmt::format("code {} {} {}", p.pid, loaded, code.ShortDebugString()));
  }
  void on_code_unload(ProcessId p, TimeNs time, CodeId code) override {
    records.push_back(fmt::format("code unload {} {} {}", p.pid, time, code));
  }
  void on_samples(std::span<const profile::SampleRecord> all) override {
    for (const profile::SampleRecord& s : all) samples.push_back(line(s));
  }
  void on_activity(std::span<const profile::ActivityRecord> all) override {
    for (const profile::ActivityRecord& r : all) {
      activity.push_back(fmt::format("{} {}.{} {} {} {} {} {}", r.time, r.process.pid, r.process.start, r.tid,
                                     static_cast<int>(r.kind), r.id, r.a, r.b));
    }
  }
  void on_watermark(TimeNs watermark) override { records.push_back(fmt::format("watermark {}", watermark)); }

  static std::string line(const profile::SampleRecord& s) {
    const profile::Attribution& a = s.attribution;
    return fmt::format("{} {}.{} {} {} {} {} {} {} {:x} {:x} {:x} {:x} | {} {} {} {} {} {} {} {} {} {} {}",
                       s.time, s.process.pid, s.process.start, s.tid, s.cpu, s.source,
                       static_cast<int>(s.mode), s.has_tag, s.weight, s.ip, s.user_ip, s.tag, s.address,
                       static_cast<int>(a.how), static_cast<int>(a.reason), static_cast<int>(a.quality),
                       a.kernel, a.pipeline, a.level, a.link, a.engine_component, a.plan, a.code,
                       a.execution);
  }

 private:
  template <typename Message, typename Value>
  void record(const char* what, const Value& value) {
    Message message;
    store::encode(value, message);
    records.push_back(fmt::format("{} {}", what, message.ShortDebugString()));
  }
};

}  // namespace tailor::test
