// Writes a profile of very many short executions: many_executions NUMBER FILE. report.py reads it.
#include <algorithm>
#include <random>
#include <string>

#include "tests/bench/query/engine_profile.h"

namespace tailor {
namespace {

constexpr ProcessId kProcess{4711, 7};
constexpr TimeNs kStart = 1'000'000'000'000, kBetween = 100'000;
constexpr std::uint64_t kPlans = 16, kUsers = 8, kOfSamples = 100, kRunning = 8;

void write_plans(profile::ProfileSink& out) {
  profile::ProcessRecord process;
  process.process = kProcess;
  process.comm = process.engine_name = "engine";
  process.registered = process.first_seen = kStart;
  out.on_process(process);
  for (PlanId id = 1; id <= kPlans; ++id) {
    v1::Plan plan;
    plan.set_id(id);
    plan.set_name("query " + std::to_string(id));
    v1::Level& operators = *plan.add_levels();
    operators.set_name("operator");
    operators.set_component_count(4);
    out.on_plan(kProcess, kStart, plan);
  }
}

profile::SampleRecord sample_of(const profile::ExecutionRecord& execution, std::uint64_t random) {
  profile::SampleRecord sample;
  sample.time = execution.begin + 1;
  sample.process = kProcess;
  sample.tid = 100;
  sample.weight = 1'000'000;
  sample.attribution.how = profile::How::kTag;
  sample.attribution.plan = execution.plan;
  sample.attribution.execution = execution.handle;
  sample.attribution.link = static_cast<std::uint32_t>(1 + random % 4) << 1;
  return sample;
}

// Each begins while the ones before it still run, and is written when it begins and when it ends.
void write_executions(profile::ProfileSink& out, std::uint64_t number) {
  std::mt19937_64 random(1);
  std::vector<profile::ExecutionRecord> running;
  const auto end_one = [&] {
    running.front().end = running.back().begin + 1'000;
    running.front().rows = random() % 100;
    out.on_execution(running.front());
    running.erase(running.begin());
  };
  for (std::uint64_t handle = 1; handle <= number; ++handle) {
    profile::ExecutionRecord execution;
    execution.process = kProcess;
    execution.handle = handle;
    std::ranges::generate(execution.id.bytes, [&] { return static_cast<std::uint8_t>(random()); });
    execution.plan = 1 + random() % kPlans;
    execution.begin =
        kStart + static_cast<TimeNs>(handle) * kBetween + static_cast<TimeNs>(random() % 50'000);
    execution.heard = execution.begin + 2'000;
    execution.labels = {{"user", "user " + std::to_string(random() % kUsers)},
                        {"query", "query " + std::to_string(execution.plan)}};
    execution.uid = 1000;
    execution.wall_begin_ns = 1'700'000'000'000'000'000 + static_cast<std::uint64_t>(execution.begin);
    out.on_execution(execution);
    running.push_back(execution);
    if (handle % kOfSamples == 0) {
      const profile::SampleRecord sample = sample_of(execution, random());
      out.on_samples({&sample, 1});
    }
    if (running.size() > kRunning) end_one();
    if (handle % 10'000 == 0) out.on_watermark(execution.begin);
  }
  while (!running.empty()) end_one();
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) {
  return tailor::write_engine_profile("many_executions", argc, argv, tailor::kStart,
                                      [](tailor::profile::ProfileSink& out, std::uint64_t number) {
                                        tailor::write_plans(out);
                                        tailor::write_executions(out, number);
                                      });
}
