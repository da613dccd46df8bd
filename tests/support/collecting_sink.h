// A sink that keeps what it is given.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "daemon/store/sink.h"

namespace tailor::test {

class CollectingSink : public store::ProfileSink {
 public:
  store::RecordingInfo recording;
  std::map<ProcessId, store::ProcessRecord> processes;
  std::map<ProcessId, store::Accounting> accounting;
  std::map<std::pair<ProcessId, ExecutionHandle>, store::ExecutionRecord> executions;
  std::vector<store::SampleRecord> samples;
  std::vector<store::ActivityRecord> activity;
  std::vector<PlanId> plans;
  std::map<PlanId, v1::Plan> plan_bodies;  // as said last, whoever said it
  std::vector<CodeId> codes, unloads;
  std::map<std::pair<ProcessId, std::int32_t>, std::string> threads;
  TimeNs watermark = kTimeMin;

  // Of the process and, unless 0, the thread.
  std::vector<store::SampleRecord> samples_of(ProcessId process, std::int32_t tid = 0) const {
    std::vector<store::SampleRecord> found;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(found), [&](const auto& sample) {
      return sample.process == process && (tid == 0 || sample.tid == tid);
    });
    return found;
  }

  void on_recording(const store::RecordingInfo& v) override { recording = v; }
  void on_process(const store::ProcessRecord& v) override { processes[v.process] = v; }
  void on_thread(ProcessId p, std::int32_t tid, const std::string& name) override {
    threads[{p, tid}] = name;
  }
  void on_component(ProcessId, std::uint32_t, const std::string&) override {}
  void on_region_kind(ProcessId, const v1::RegionKind&) override {}
  void on_plan(ProcessId, TimeNs, const v1::Plan& plan) override {
    plans.push_back(plan.id());
    plan_bodies[plan.id()] = plan;
  }
  void on_code(ProcessId, TimeNs, const v1::CodeObject& code) override { codes.push_back(code.id()); }
  void on_code_unload(ProcessId, TimeNs, CodeId code) override { unloads.push_back(code); }
  void on_execution(const store::ExecutionRecord& v) override { executions[{v.process, v.handle}] = v; }
  void on_samples(std::span<const store::SampleRecord> v) override {
    samples.insert(samples.end(), v.begin(), v.end());
  }
  void on_activity(std::span<const store::ActivityRecord> v) override {
    activity.insert(activity.end(), v.begin(), v.end());
  }
  void on_accounting(const store::Accounting& v) override { accounting[v.process] = v; }
  void on_watermark(TimeNs v) override { watermark = v; }
};

}  // namespace tailor::test
