// A second process that worked for the execution of sample_profile.h.
#pragma once

#include <string>
#include <vector>

#include "tests/support/sample_profile.h"

namespace tailor::test {

inline constexpr ProcessId kWorkerProcess{5000, 1};
inline constexpr ExecutionHandle kWorkerExecution = 9;
inline constexpr std::int32_t kWorkerThread = 5001;

// The identity of the sample execution, as the label of a worker has it.
inline std::string sample_leader() {
  std::string id;
  for (int i = 0; i < 16; ++i) id += "e1";
  return id;
}

inline profile::ExecutionRecord worker_execution(const std::string& leader) {
  profile::ExecutionRecord execution;
  execution.process = kWorkerProcess;
  execution.handle = kWorkerExecution;
  execution.id.bytes.fill(0xB2);
  execution.plan = kSamplePlan;
  execution.begin = kSampleStart + 1;
  execution.labels = {{"leader_execution", leader}};
  return execution;
}

// The worker with two samples: one of task 6 (operator 1), one of "compile".
inline void give_worker(profile::ProfileSink& sink, const std::string& leader) {
  profile::ProcessRecord process;
  process.process = kWorkerProcess;
  sink.on_process(process);
  sink.on_component(process.process, 1, "compile");
  sink.on_plan(process.process, kSampleStart, sample_plan());
  sink.on_execution(worker_execution(leader));
  std::vector<profile::SampleRecord> samples = {tag_sample(kSampleStart + 2, 6),
                                                component_sample(kSampleStart + 3, 1)};
  for (profile::SampleRecord& sample : samples) {
    sample.process = kWorkerProcess;
    sample.tid = kWorkerThread;
    sample.attribution.execution = kWorkerExecution;
  }
  sink.on_samples(samples);
  const profile::ActivityRecord marks[] = {
      {kSampleStart + 1, kWorkerProcess, kWorkerThread, TAILOR_LOG_EXECUTION_BEGIN, 0, kWorkerExecution,
       kSamplePlan},
      {kSampleStart + 4, kWorkerProcess, kWorkerThread, TAILOR_LOG_EXECUTION_END, 0, kWorkerExecution, 0}};
  sink.on_activity(marks);
}

}  // namespace tailor::test
