#include "tests/bench/session/ring_load.h"

#include <tailor/tag.h>
#include <tailor/thread_area.h>

#include <algorithm>
#include <string>

#include "daemon/capture/decode/register_masks.h"
#include "tests/support/engine_messages.h"
#include "tests/support/record_encoder.h"
#include "tests/support/scripted_input.h"

namespace tailor::bench {
namespace {

constexpr ProcessId kProcess{42, 7};
constexpr int kThreads = 4;
constexpr TimeNs kStart = 1'000'000, kPeriod = 200'000, kRound = 50'000'000;
constexpr TimeNs kExecution = 2'000'000'000, kMorsel = 10'000'000;
constexpr PlanId kPlans = 8;
constexpr std::uint32_t kPipelines = 3, kRows = 200, kInstructionBytes = 4, kOperators = 8;
constexpr std::uint64_t kCodeBase = 0x10000000, kStride = 1 << 16, kSharedCode = 0x7f0000000000;

std::uint32_t link_to(std::uint32_t component) {
  return component << 1;
}
std::uint32_t operator_of(std::uint32_t pipeline, std::uint64_t choice) {
  return 1 + static_cast<std::uint32_t>((pipeline * 3 + choice) % kOperators);
}

tailor_log_record mark(tailor_log_kind kind, TimeNs time, std::uint32_t id, std::uint64_t a,
                       std::uint64_t b) {
  tailor_log_record record{};
  record.tsc = static_cast<std::uint64_t>(time);
  record.kind = kind;
  record.id = id;
  record.a = a;
  record.b = b;
  return record;
}

}  // namespace

RingLoad::RingLoad(int samples, Saying saying) : saying_(saying), last_(kThreads), said_(kThreads) {
  format_.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
  format_.regs_user = (1u << 8) | (1u << 23);  // IP, R15
  format_.tag_register = 23;
  if (saying_ != Saying::kLogs) format_.regs_user |= capture::kStatePlaces;
  for (PlanId id = 1; id <= kPlans; ++id) plans_.push_back(plan_of(id));
  for (PlanId id = 1; id <= kPlans; ++id) {
    for (std::uint32_t pipeline = 1; pipeline <= kPipelines; ++pipeline)
      codes_.push_back(code_of(id, pipeline));
  }
  // The timer of each CPU starts when it starts, and is not quite even.
  std::vector<TimeNs> next;
  for (int cpu = 0; cpu < kThreads; ++cpu) next.push_back(kStart + static_cast<TimeNs>(below(kPeriod)));
  for (int left = samples; left > 0;) {
    Round& round = rounds_.emplace_back();
    const auto number = static_cast<int>(rounds_.size());
    round.now = kStart + number * kRound;
    for (int cpu = 0; cpu < kThreads; ++cpu) {
      const int thread = (cpu + number / 16) % kThreads;
      for (TimeNs time = round.now - kRound; time < round.now; time += kMorsel) log(round, thread, time);
      capture::RingChunk& chunk = round.chunks.emplace_back();
      chunk.ring = static_cast<capture::RingIndex>(cpu);
      TimeNs& time = next[static_cast<std::size_t>(cpu)];
      for (; time < round.now && left > 0; --left) {
        sample(chunk, thread, time);
        time += kPeriod - 5'000 + static_cast<TimeNs>(below(10'000));
      }
    }
  }
}

// Two levels of tags over as many instructions as the code has rows.
v1::Plan RingLoad::plan_of(PlanId id) {
  v1::Plan plan;
  plan.set_id(id);
  plan.set_slot(static_cast<std::uint32_t>(id));
  plan.set_generation(1);
  plan.set_name("plan " + std::to_string(id));
  plan.set_tag_upper_level(0);
  plan.set_tag_lower_level(1);
  plan.set_has_tag_lower_level(true);
  const std::pair<const char*, std::uint32_t> levels[] = {
      {"operator", kOperators}, {"task", kOperators}, {"ir", kRows * kPipelines}};
  for (const auto& [name, count] : levels) {
    v1::Level* level = plan.add_levels();
    level->set_name(name);
    level->set_component_count(count);
    if (plan.levels_size() == 1) continue;
    for (std::uint32_t i = 0; i < count; ++i) level->add_links(link_to(1 + i % kOperators));
  }
  return plan;
}

RingLoad::Code RingLoad::code_of(PlanId plan, std::uint32_t pipeline) {
  Code code;
  std::vector<test::RowWord> rows;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const auto bytes = static_cast<std::uint32_t>(code.links.size()) * kInstructionBytes;
    const bool prologue = row == 0;
    const std::uint32_t link = prologue ? 0 : link_to((pipeline - 1) * kRows + row);
    const v1::RowFlag flag = prologue ? v1::ROW_PROLOGUE : row % 9 == 0 ? v1::ROW_INFERRED : v1::ROW_EXACT;
    rows.push_back({bytes, link, flag});
    code.links.insert(code.links.end(), 1 + below(4), link);
  }
  const CodeId id = (plan - 1) * kPipelines + pipeline;
  code.object =
      test::small_code(id, plan, kCodeBase + id * kStride, code.links.size() * kInstructionBytes, rows);
  return code;
}

RingLoad::Place RingLoad::place_of(int thread, TimeNs time) {
  const int pair = thread / 2;
  const TimeNs since = time - kStart + pair * kExecution / 2;
  const auto number = static_cast<std::uint64_t>(since / kExecution);
  const auto pipeline = static_cast<std::uint32_t>(since % kExecution * kPipelines / kExecution);
  return {number * 2 + static_cast<std::uint64_t>(pair) + 1,
          (number * 3 + static_cast<std::uint64_t>(pair)) % kPlans + 1, pipeline + 1};
}

// A morsel that starts at `time`, and what has ended and begun before it.
void RingLoad::log(Round& round, int thread, TimeNs time) {
  const auto at = static_cast<std::size_t>(thread);
  Place& last = last_[at];
  const Place place = place_of(thread, time);
  registration::ActivityRecords& log = round.logs.emplace_back();
  log.process = kProcess;
  log.tid = 100 + thread;
  auto add = [&](tailor_log_kind kind, std::uint32_t id, std::uint64_t a = 0, std::uint64_t b = 0) {
    log.records.push_back(mark(kind, time, id, a, b));
  };
  if (last.pipeline != 0) add(TAILOR_LOG_MORSEL_END, last.pipeline);
  const bool other = last.execution != place.execution;
  if (last.pipeline != 0 && (other || last.pipeline != place.pipeline))
    add(TAILOR_LOG_PIPELINE_END, last.pipeline);
  if (other && last.execution != 0) add(TAILOR_LOG_EXECUTION_END, 0, last.execution);
  if (other) add(TAILOR_LOG_EXECUTION_BEGIN, 0, place.execution, place.plan);
  if (other || last.pipeline != place.pipeline) add(TAILOR_LOG_PIPELINE_BEGIN, place.pipeline);
  add(TAILOR_LOG_MORSEL_BEGIN, place.pipeline);
  last = place;
}

void RingLoad::sample(capture::RingChunk& chunk, int thread, TimeNs time) {
  // Marks are made between morsels.
  const Place place = place_of(thread, kStart + (time - kStart) / kMorsel * kMorsel);
  test::SampleFields fields;
  fields.pid = kProcess.pid;
  fields.tid = 100 + thread;
  fields.time = static_cast<std::uint64_t>(time);
  fields.cpu = chunk.ring;
  fields.period = 200'000;
  const std::uint32_t task = operator_of(place.pipeline, below(3));
  std::uint64_t tag =
      tailor_tag_make(test::kScriptKey, static_cast<std::uint32_t>(place.plan), 1, task, task);
  const std::uint64_t kind = below(256);
  if (kind == 0) {
    tag = TAILOR_TAG_NONE;
    fields.ip = kSharedCode + (1 << 20) + below(16) * 64;
    ++expected_[{place.execution, 0, 0, 0, profile::How::kUnattributed}];
  } else if (kind <= 32) {
    fields.ip = kSharedCode + below(64) * 16;
    ++expected_[{place.execution, place.plan, 1, link_to(task), profile::How::kTag}];
  } else {
    const Code& code = codes_[(place.plan - 1) * kPipelines + place.pipeline - 1];
    // Some instructions are hotter than others.
    const std::uint64_t instruction = std::min(below(code.links.size()), below(code.links.size()));
    fields.ip = code.object.base() + instruction * kInstructionBytes;
    ++expected_[{place.execution, place.plan, 2, code.links[instruction], profile::How::kCode}];
  }
  fields.user_registers = {fields.ip, tag};
  if (saying_ != Saying::kLogs) {
    std::uint64_t& said = said_[static_cast<std::size_t>(thread)];
    said = saying_ == Saying::kRestless ? said % kPipelines + 1 : place.pipeline;
    fields.user_registers.insert(fields.user_registers.end(), {place.execution, place.plan, said << 32});
  }
  test::append(chunk.bytes, test::encode_sample(format_, fields));
}

void RingLoad::feed(pipeline::Input& input) const {
  clock::Conversion piece;
  piece.mult = 1;
  input.on_clock(piece, false);
  for (std::uint32_t cpu = 0; cpu < kThreads; ++cpu) {
    capture::RingLayout layout;
    layout.ring = layout.cpu = cpu;
    layout.pid = kProcess.pid;
    layout.formats.push_back(format_);
    input.on_ring(layout);
  }
  test::ScriptedInput script(input);
  script.hello(kProcess, 1, 1);
  for (const v1::Plan& plan : plans_) script.load(kProcess, 2, plan);
  for (const Code& code : codes_) script.load(kProcess, 3, code.object);
  for (const Round& round : rounds_) {
    if (saying_ == Saying::kLogs) {
      for (const registration::ActivityRecords& log : round.logs) input.on_activity(log);
    }
    for (const capture::RingChunk& chunk : round.chunks) input.on_chunk(chunk);
    input.on_round(round.now);
    script.settle(kProcess, round.now);
    input.advance(round.now);
  }
  input.flush(rounds_.back().now);
}

}  // namespace tailor::bench
