// A sink that keeps what it is given.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"

namespace tailor::test {

class CollectingSink : public profile::ProfileSink {
 public:
  profile::RecordingInfo recording;
  std::map<ProcessId, profile::ProcessRecord> processes;
  std::map<ProcessId, profile::Accounting> accounting;
  std::map<std::pair<ProcessId, ExecutionHandle>, profile::ExecutionRecord> executions;
  std::map<std::pair<ProcessId, std::uint32_t>, std::string> components;
  std::map<std::uint32_t, std::string> region_kinds;
  std::map<std::uint32_t, PlanId> region_plans;
  std::vector<profile::SampleRecord> samples;
  std::vector<profile::ActivityRecord> activity;
  std::vector<PlanId> plans;
  std::map<PlanId, v1::Plan> plan_bodies;  // as said last, whoever said it
  std::vector<CodeId> codes, unloads;
  std::map<CodeId, v1::ToldBy> told_by;
  std::size_t frame_bytes = 0;  // of call frame information, of all code
  std::map<std::pair<ProcessId, std::int32_t>, std::string> threads;
  TimeNs watermark = kTimeMin;

  // Of the process and, unless 0, the thread.
  std::vector<profile::SampleRecord> samples_of(ProcessId process, std::int32_t tid = 0) const {
    std::vector<profile::SampleRecord> found;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(found), [&](const auto& sample) {
      return sample.process == process && (tid == 0 || sample.tid == tid);
    });
    return found;
  }

  void on_recording(const profile::RecordingInfo& v) override { recording = v; }
  void on_process(const profile::ProcessRecord& v) override { processes[v.process] = v; }
  void on_thread(ProcessId p, std::int32_t tid, const std::string& name) override {
    threads[{p, tid}] = name;
  }
  void on_component(ProcessId p, std::uint32_t component, const std::string& name) override {
    components[{p, component}] = name;
  }
  void on_region_kind(ProcessId, const v1::RegionKind& kind) override {
    region_kinds[kind.id()] = kind.name();
    region_plans[kind.id()] = kind.plan_id();
  }
  void on_plan(ProcessId, TimeNs, const v1::Plan& plan) override {
    plans.push_back(plan.id());
    plan_bodies[plan.id()] = plan;
  }
  void on_code(ProcessId, TimeNs, const v1::CodeObject& code) override {
    codes.push_back(code.id());
    told_by[code.id()] = code.told_by();
    frame_bytes += code.eh_frame().size();
  }
  void on_code_unload(ProcessId, TimeNs, CodeId code) override { unloads.push_back(code); }
  void on_execution(const profile::ExecutionRecord& v) override { executions[{v.process, v.handle}] = v; }
  void on_samples(std::span<const profile::SampleRecord> v) override {
    samples.insert(samples.end(), v.begin(), v.end());
  }
  void on_activity(std::span<const profile::ActivityRecord> v) override {
    activity.insert(activity.end(), v.begin(), v.end());
  }
  void on_accounting(const profile::Accounting& v) override { accounting[v.process] = v; }
  void on_watermark(TimeNs v) override { watermark = v; }
};

}  // namespace tailor::test
