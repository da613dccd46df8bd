// Writes a profile of very many samples: many_samples NUMBER FILE. big_profiles.py reads it.
#include <random>
#include <string>
#include <vector>

#include "tests/bench/query/engine_profile.h"

namespace tailor {
namespace {

constexpr ProcessId kProcess{4711, 7};
constexpr TimeNs kStart = 1'000'000'000'000, kBetween = 20'000;
constexpr std::uint32_t kOperators = 8, kTasks = 16, kLines = 400, kThreads = 8;
constexpr std::uint64_t kOfOneExecution = 100'000;
constexpr std::size_t kAtOnce = 4096;
constexpr std::uint64_t kCode = 0x7f00'0000'0000;

// Each lower component belongs to one upper one.
void add_level(v1::Plan& plan, const char* name, std::uint32_t count, std::uint32_t of) {
  v1::Level& level = *plan.add_levels();
  level.set_name(name);
  level.set_component_count(count);
  for (std::uint32_t i = 0; of > 0 && i < count; ++i) level.add_links((1 + i % of) << 1);
}

void write_plan(profile::ProfileSink& out) {
  profile::ProcessRecord process;
  process.process = kProcess;
  process.comm = process.engine_name = "engine";
  process.registered = process.first_seen = kStart;
  out.on_process(process);
  v1::Plan plan;
  plan.set_id(1);
  plan.set_name("query");
  add_level(plan, "operator", kOperators, 0);
  add_level(plan, "task", kTasks, kOperators);
  add_level(plan, "ir", kLines, kTasks);
  out.on_plan(kProcess, kStart, plan);
  v1::CodeObject code;
  code.set_id(2);
  code.set_plan_id(1);
  code.set_base(kCode);
  code.set_size(16 * kLines);
  out.on_code(kProcess, kStart, code);
}

profile::ExecutionRecord execution_of(std::uint64_t handle) {
  profile::ExecutionRecord execution;
  execution.process = kProcess;
  execution.handle = handle;
  execution.id.bytes.fill(static_cast<std::uint8_t>(handle));
  execution.id.bytes[0] = static_cast<std::uint8_t>(handle >> 8);
  execution.plan = 1;
  execution.begin = kStart + static_cast<TimeNs>((handle - 1) * kOfOneExecution) * kBetween;
  execution.heard = execution.begin;
  return execution;
}

// As the timers of several threads give them: most in generated code, some by their tags, a few nobody's.
profile::SampleRecord sample_of(std::uint64_t number, std::mt19937_64& random) {
  const std::uint64_t drawn = random();
  profile::SampleRecord sample;
  sample.time = kStart + static_cast<TimeNs>(number) * kBetween + static_cast<TimeNs>(drawn % 10'000);
  sample.process = kProcess;
  sample.tid = static_cast<std::int32_t>(100 + drawn % kThreads);
  sample.cpu = static_cast<std::uint32_t>(drawn >> 8) % kThreads;
  sample.weight = 150'000 + (drawn >> 16) % 10'000;
  // Few lines have most of the time.
  const auto line = static_cast<std::uint32_t>((drawn >> 32) % kLines * ((drawn >> 48) % kLines) / kLines);
  sample.ip = sample.user_ip = kCode + 16 * line + (drawn >> 60);
  sample.attribution.execution = number / kOfOneExecution + 1;
  if (drawn % 64 == 0) {
    sample.attribution.reason = profile::Reason::kUnknownUserCode;
    return sample;
  }
  const bool tagged = drawn % 8 == 1;
  sample.attribution.how = tagged ? profile::How::kTag : profile::How::kCode;
  sample.attribution.plan = 1;
  sample.attribution.code = tagged ? 0 : 2;
  sample.attribution.level = tagged ? 1 : 2;
  sample.attribution.link = (1 + (tagged ? line % kTasks : line)) << 1;
  return sample;
}

void write_samples(profile::ProfileSink& out, std::uint64_t number) {
  std::mt19937_64 random(1);
  std::vector<profile::SampleRecord> samples;
  for (std::uint64_t i = 0; i < number; ++i) {
    if (i % kOfOneExecution == 0) out.on_execution(execution_of(i / kOfOneExecution + 1));
    samples.push_back(sample_of(i, random));
    const bool last = i + 1 == number || (i + 1) % kOfOneExecution == 0;
    if (samples.size() == kAtOnce || last) {
      out.on_samples(samples);
      out.on_watermark(samples.back().time);
      samples.clear();
    }
    if (!last) continue;
    profile::ExecutionRecord ended = execution_of(i / kOfOneExecution + 1);
    ended.end = kStart + static_cast<TimeNs>(i + 1) * kBetween;
    out.on_execution(ended);
  }
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) {
  return tailor::write_engine_profile("many_samples", argc, argv, tailor::kStart,
                                      [](tailor::profile::ProfileSink& out, std::uint64_t number) {
                                        tailor::write_plan(out);
                                        tailor::write_samples(out, number);
                                      });
}
