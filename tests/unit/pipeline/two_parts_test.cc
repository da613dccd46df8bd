// PEBS and the counter beside it, as one source: constructed streams of both, of a program whose time in each
// state is known. Each moment must be counted once, whichever of the two samples it. Twins that count every
// sample, or that have PEBS alone, must fail.
#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "daemon/bpf/sample_encoder.h"
#include "daemon/capture/select/event_selection.h"
#include "daemon/capture/select/jitter.h"
#include "daemon/pipeline/pipeline.h"
#include "tailor/tag.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/engine_messages.h"
#include "tests/support/record_encoder.h"
#include "tests/support/scripted_input.h"

namespace tailor::pipeline {
namespace {

using capture::Part;

constexpr ProcessId kProcess{42, 7};
constexpr std::uint64_t kCode = 0x10000, kLibrary = 0x500000, kKernel = 0xffffffff81000000;
constexpr std::uint64_t kUnwoundId = 1000;
constexpr capture::RingIndex kPebsRing = 1, kRestRing = 2;
constexpr std::uint64_t kHz = 1000;

// What the program may be doing, and for whom.
enum class State {
  kScan,          // generated code of the scan
  kJoin,          // of the join
  kShared,        // shared code for the join: the tag is in its place
  kPutAside,      // a library that saved the tag of the scan on its stack and uses the register
  kSystemCall,    // the kernel, entered by generated code of the join
  kSharedKernel,  // the kernel, entered by shared code for the scan
  kNobodys,       // user code that is nobody's
};
constexpr std::size_t kStates = 7;
enum Owner { kNobody = 0, kScanOwner = 1, kJoinOwner = 2 };
constexpr std::array<Owner, kStates> kOwners = {kScanOwner, kJoinOwner, kJoinOwner, kScanOwner,
                                                kJoinOwner, kScanOwner, kNobody};

bool in_kernel(State state) {
  return state == State::kSystemCall || state == State::kSharedKernel;
}

std::uint64_t tag_of(Owner owner) {
  return owner == kScanOwner ? tailor_tag_make(test::kScriptKey, 1, 1, 1, 1)
                             : tailor_tag_make(test::kScriptKey, 1, 1, 2, 2);
}

struct Segment {
  State state;
  std::uint64_t cycles;
};

// Short stays in each state, of lengths without a rhythm.
std::vector<Segment> program(std::uint64_t cycles) {
  constexpr std::array<double, kStates> kShares = {0.3, 0.2, 0.12, 0.1, 0.15, 0.08, 0.05};
  std::mt19937_64 random(3);
  std::discrete_distribution<int> which(kShares.begin(), kShares.end());
  std::vector<Segment> segments;
  for (std::uint64_t done = 0; done < cycles;) {
    const std::uint64_t length = 20'000 + random() % 400'000;
    segments.push_back({static_cast<State>(which(random)), length});
    done += length;
  }
  return segments;
}

struct Taken {
  State state;
  std::uint64_t time, period;  // a cycle lasts a nanosecond
};

// The samples of a counter. It stands still in kernel mode where that is not counted. Its period is drawn
// anew every 200 samples.
std::vector<Taken> samples_of(const std::vector<Segment>& segments, const capture::EventSpec& spec,
                              bool count_kernel, std::uint64_t seed) {
  capture::PeriodDraw draw(seed);
  std::vector<Taken> taken;
  std::uint64_t now = 1'000'000, period = draw.draw(spec), left = period;
  for (const Segment& segment : segments) {
    const std::uint64_t end = now + segment.cycles;
    const bool counts = count_kernel || !in_kernel(segment.state);
    while (counts && end - now >= left) {
      now += left;
      taken.push_back({segment.state, now, period});
      if (taken.size() % 200 == 0) period = draw.draw(spec);
      left = period;
    }
    if (counts) left -= end - now;
    now = end;
  }
  return taken;
}

enum class Twin { kNone, kCountsTwice, kPebsAlone };

class TwoParts {
 public:
  explicit TwoParts(v1::TagStrategy strategy) : strategy_(strategy) {
    capture::HostPmu pmu;
    pmu.cpu = "GenuineIntel 6/143";
    pmu.table = "spr";
    pmu.counters = true;
    pmu.max_precise = 3;
    const std::vector<std::string> names = {"auto"};
    auto selection = capture::select_events(names, kHz, pmu);
    EXPECT_TRUE(selection.ok());
    events_ = selection->events;
  }

  // Cycles by owner, as samples in the profile say.
  std::map<Owner, double> sums(const std::vector<Segment>& segments, Twin twin) {
    test::CollectingSink sink;
    Pipeline pipeline(sink);
    test::ScriptedInput script(pipeline);
    script.open(kProcess.pid);
    script.hello(kProcess, 1, 1000, "s1", strategy_);
    script.load(kProcess, 1000, test::small_plan(1));
    script.load(kProcess, 1000, test::small_code(11, 1, kCode));
    EXPECT_EQ(events_.size(), 2u);
    if (events_.size() != 2) return {};
    const auto records = samples_of(segments, events_[0], false, 1);
    const auto rest = samples_of(segments, events_[1], true, 2);
    tell_records(pipeline, records, twin);
    if (twin != Twin::kPebsAlone) tell_rest(pipeline, rest, twin);
    script.settle(kProcess, kTimeMax / 2);
    pipeline.flush(static_cast<TimeNs>(rest.back().time) + 1'000'000'000);
    std::map<Owner, double> sums;
    for (const profile::SampleRecord& sample : sink.samples) {
      EXPECT_EQ(sample.source, 0u);
      const Owner owner = owner_of(sample.attribution);
      sums[owner] += static_cast<double>(sample.weight);
    }
    const profile::Accounting& counts = sink.accounting[kProcess];
    EXPECT_EQ(counts.received, counts.attributed + counts.unattributed + counts.counted_by_other);
    EXPECT_EQ(counts.received, records.size() + (twin == Twin::kPebsAlone ? 0 : rest.size()));
    EXPECT_EQ(sink.samples.size(), counts.attributed + counts.unattributed);
    return sums;
  }

  const std::vector<capture::EventSpec>& events() const { return events_; }

 private:
  static Owner owner_of(const profile::Attribution& attribution) {
    if (attribution.how == profile::How::kUnattributed) return kNobody;
    const std::uint32_t component = attribution.link >> 1;
    if (attribution.level == 1) return component == 1 ? kScanOwner : kJoinOwner;  // a task
    return component <= 2 ? kScanOwner : kJoinOwner;                              // an instruction
  }

  static std::uint64_t address(State state) {
    if (state == State::kScan) return kCode + 16;
    if (state == State::kJoin || state == State::kSystemCall) return kCode + 40;
    return kLibrary + 8 * static_cast<std::uint64_t>(state);
  }
  // The owner of the tag where the engine keeps it; kNobody: something else is there, or nothing.
  Owner tag_at(State state) const {
    if (state == State::kShared || state == State::kSharedKernel) return kOwners[static_cast<int>(state)];
    // A library does not touch the slot of a thread.
    if (state == State::kPutAside && strategy_ == v1::TAGS_MEMORY_SLOT) return kScanOwner;
    return kNobody;
  }
  std::uint64_t r15(State state) const {
    if (strategy_ != v1::TAGS_R15) return 0;
    const Owner owner = tag_at(state);
    return owner != kNobody ? tag_of(owner) : state == State::kPutAside ? 0x1234 : 0;
  }

  void tell_records(Pipeline& pipeline, const std::vector<Taken>& taken, Twin twin) {
    capture::CaptureOptions options;
    options.events = events_;
    options.large_pebs = false;  // in our clock
    const perf_event_attr attr = capture::make_attr(events_[0], false, options, true);
    EXPECT_TRUE(attr.exclude_kernel);
    capture::RingLayout layout;
    layout.ring = kPebsRing;
    layout.pid = kProcess.pid;
    capture::EventFormat format = capture::format_of(attr, events_[0], 0, PERF_REG_X86_R15);
    if (twin == Twin::kCountsTwice) format.part = Part::kAll;
    layout.formats = {format};
    layout.ids = {{1, 0}};
    for (std::size_t i = 0; i < taken.size();) {
      // A layout for each period, as each recording has one.
      layout.formats[0].period = taken[i].period;
      pipeline.on_ring(layout);
      capture::RingChunk chunk{kPebsRing, {}};
      for (const std::uint64_t period = taken[i].period; i < taken.size() && taken[i].period == period; ++i) {
        test::SampleFields fields;
        fields.identifier = 1;
        fields.ip = address(taken[i].state);
        fields.pid = fields.tid = kProcess.pid;
        fields.time = taken[i].time;
        fields.interrupt_registers = {0, r15(taken[i].state)};
        test::append(chunk.bytes, test::encode_sample(format, fields));
      }
      pipeline.on_chunk(chunk);
    }
  }

  void tell_rest(Pipeline& pipeline, const std::vector<Taken>& taken, Twin twin) {
    std::vector<capture::EventSpec> beside = {events_[1]};
    if (twin == Twin::kCountsTwice) beside[0].part = Part::kAll;
    capture::RingLayout layout = bpf::layout_of(beside, false, false);
    layout.ring = kRestRing;
    layout.pid = kProcess.pid;
    // As the stack's reader writes what it found.
    layout.formats.push_back(layout.formats[0]);
    layout.formats.back().tag_from = capture::TagFrom::kUnwound;
    layout.ids.push_back({kUnwoundId, static_cast<std::uint16_t>(layout.formats.size() - 1)});
    pipeline.on_ring(layout);
    capture::RingChunk chunk{kRestRing, {}};
    for (const Taken& each : taken) {
      tailor_bpf_sample sample{};
      sample.state.execution = TAILOR_NO_STATE;
      sample.period = each.period;
      sample.kernel = in_kernel(each.state);
      sample.ip = sample.kernel ? kKernel : address(each.state);
      sample.pid = sample.tid = static_cast<std::uint32_t>(kProcess.pid);
      sample.has_registers = 1;
      sample.registers[8] = address(each.state);
      sample.registers[16] = r15(each.state);
      if (strategy_ == v1::TAGS_MEMORY_SLOT && tag_at(each.state) != kNobody)
        sample.slot_tag = tag_of(tag_at(each.state));
      const bool unwound = each.state == State::kPutAside && strategy_ == v1::TAGS_R15;
      if (unwound) sample.registers[16] = tag_of(kScanOwner);
      const std::size_t at = chunk.bytes.size();
      EXPECT_TRUE(bpf::encode_sample(layout, sample, {}, static_cast<TimeNs>(each.time), chunk.bytes));
      if (unwound) std::memcpy(chunk.bytes.data() + at + 8, &kUnwoundId, sizeof kUnwoundId);
    }
    pipeline.on_chunk(chunk);
  }

  v1::TagStrategy strategy_;
  std::vector<capture::EventSpec> events_;
};

// The share by which the sum of each owner may differ: some deviations of as many samples as there are.
constexpr std::uint64_t kSamples = 20'000;
constexpr double kSlack = 0.025;

bool is_right(const std::map<Owner, double>& found, const std::map<Owner, double>& truth) {
  double all = 0;
  for (const auto& [owner, cycles] : truth) all += cycles;
  for (const auto& [owner, cycles] : truth) {
    const auto seen = found.find(owner);
    if (seen == found.end() || std::abs(seen->second - cycles) > kSlack * all) return false;
  }
  return true;
}

class TwoPartsTest : public testing::TestWithParam<v1::TagStrategy> {};

TEST_P(TwoPartsTest, EachMomentIsCountedOnce) {
  TwoParts parts(GetParam());
  ASSERT_EQ(parts.events().size(), 2u);
  EXPECT_EQ(parts.events()[0].part, Part::kRecords);
  EXPECT_EQ(parts.events()[1].part, Part::kRest);
  EXPECT_EQ(parts.events()[0].unit, parts.events()[1].unit);
  const auto segments = program(kSamples * parts.events()[0].period);
  std::map<Owner, double> truth;
  for (const Segment& each : segments)
    truth[kOwners[static_cast<int>(each.state)]] += static_cast<double>(each.cycles);
  const auto found = parts.sums(segments, Twin::kNone);
  for (const auto& [owner, cycles] : truth) {
    const double samples = cycles / static_cast<double>(parts.events()[0].period);
    EXPECT_NEAR(found.contains(owner) ? found.at(owner) / cycles : 0, 1, 4 / std::sqrt(samples)) << owner;
  }
  EXPECT_TRUE(is_right(found, truth));
  EXPECT_FALSE(is_right(parts.sums(segments, Twin::kCountsTwice), truth));
  EXPECT_FALSE(is_right(parts.sums(segments, Twin::kPebsAlone), truth));
}

INSTANTIATE_TEST_SUITE_P(Tags, TwoPartsTest, testing::Values(v1::TAGS_R15, v1::TAGS_MEMORY_SLOT),
                         [](const auto& parameter) {
                           return parameter.param == v1::TAGS_R15 ? "InARegister" : "InASlot";
                         });

}  // namespace
}  // namespace tailor::pipeline
