#include "daemon/export/make_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/formats/trace_writers.h"
#include "tests/unit/export/loaded_sample_profile.h"

namespace tailor::exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

formats::Trace trace_of(const query::Profile& profile, const TraceOptions& options) {
  auto trace = make_trace(profile, {}, options);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
  return trace ? *std::move(trace) : formats::Trace{};
}

std::string stack_of(const formats::Trace& trace, std::uint32_t node) {
  std::string out;
  for (; node != 0; node = trace.nodes[node].parent) {
    if (!out.empty()) out.insert(0, ";");
    out.insert(0, trace.frames[trace.nodes[node].frame].name);
  }
  return out;
}

// Stack > samples.
std::map<std::string, std::size_t> stacks(const formats::Trace& trace) {
  std::map<std::string, std::size_t> out;
  for (const formats::TraceSample& sample : trace.samples) ++out[stack_of(trace, sample.node)];
  return out;
}

// What one round of give_profile() is, by operators: worked out by hand from the links of its plan.
TEST(MakeTrace, EverySampleIsBelowItsOperators) {
  const query::Profile profile = test::sample_profile();
  const formats::Trace trace = trace_of(profile, {.levels = {"operator"}});
  ASSERT_EQ(trace.samples.size(), test::kRounds * test::kSamplesOfRound);
  std::uint64_t weight = 0;
  for (const formats::TraceSample& sample : trace.samples) weight += sample.weight;
  EXPECT_EQ(weight, test::kRounds * test::kSamplesOfRound * test::kWeight);
  constexpr std::size_t kOnce = test::kRounds;
  EXPECT_THAT(stacks(trace), UnorderedElementsAre(
                                 // IR 6 and 7, and the tag of its task.
                                 Pair("Group by", 3 * kOnce),
                                 // IR 3, 5 and 9: both owners of the last are tasks of the join.
                                 Pair("Hash join", 3 * kOnce), Pair("Filter", kOnce),
                                 // Both scans, by IR 1 and 4.
                                 Pair("Table scan", 2 * kOnce),
                                 // IR 8, and the row that names two instructions.
                                 Pair("Group by + Hash join", kOnce), Pair("Group by + Table scan", kOnce),
                                 // Set-up code, the prologue, two engine components, the kernel.
                                 Pair("", 5 * kOnce)));
}

// All generated code of a query is one object. Each of its functions has its own name, and not the first
// one's.
TEST(MakeTrace, EachFunctionOfACodeObjectHasItsOwnName) {
  constexpr std::uint64_t kBase = 0x5000'0000;
  const query::Profile profile = test::load([](profile::ProfileSink& sink) {
    tailor::test::give_context(sink);
    v1::CodeObject code = tailor::test::sample_code();
    code.set_id(9);
    code.set_base(kBase);
    code.set_name("less_2");
    for (const char* name : {"less_2", "probe"}) {
      v1::CodeSymbol& symbol = *code.add_symbols();
      symbol.set_offset(code.symbols_size() == 1 ? 0 : 64);
      symbol.set_size(32);
      symbol.set_name(name);
    }
    sink.on_code(tailor::test::kSampleProcess, tailor::test::kSampleStart, code);
    std::vector<profile::SampleRecord> samples;
    for (const std::uint64_t offset : {0, 64, 95}) {
      samples.push_back(tailor::test::ir_sample(tailor::test::kSampleStart + 1, 1));
      samples.back().attribution.code = 9;
      samples.back().ip = samples.back().user_ip = kBase + offset;
    }
    sink.on_samples(samples);
  });
  const formats::Trace trace = trace_of(profile, {.levels = {"function"}});
  EXPECT_THAT(stacks(trace), UnorderedElementsAre(Pair("less_2", 1), Pair("probe", 2)));
  const std::string folded = formats::write_folded(trace, 0);
  EXPECT_THAT(folded, HasSubstr("less_2_[j] "));
  EXPECT_THAT(folded, HasSubstr("probe_[j] "));
}

// Where nothing was sampled a table has no rows. Where nothing of it was chosen, that is said.
TEST(MakeTrace, AProfileWithoutSamplesMayBeEmpty) {
  const query::Profile nothing = test::load([](profile::ProfileSink& sink) { sink.on_recording({}); });
  EXPECT_FALSE(make_trace(nothing, {}, {}));
  TraceOptions table;
  table.may_be_empty = true;
  EXPECT_TRUE(trace_of(nothing, table).samples.empty());
  table.keep = [](const query::TimedSample&) { return false; };
  EXPECT_FALSE(make_trace(test::sample_profile(), {}, table));
}

TEST(MakeTrace, LevelsNestInTheOrderAsked) {
  const query::Profile profile = test::sample_profile();
  const auto all = stacks(trace_of(profile, {.levels = {"process", "plan", "pipeline", "levels"}}));
  EXPECT_EQ(all.at("weft (4242);figure-9;pipeline 1;Filter;filter"), 3u);
  EXPECT_EQ(all.at("weft (4242);figure-9;compile"), 3u);
  const auto turned = stacks(trace_of(profile, {.levels = {"task", "operator", "ir"}}));
  EXPECT_EQ(turned.at("filter;Filter;ir 2"), 3u);
  EXPECT_EQ(turned.count("Filter;filter;ir 2"), 0u);
}

TEST(MakeTrace, SamplesOfNobodySayWhy) {
  const query::Profile profile = test::sample_profile();
  const formats::Trace trace = trace_of(profile, {.levels = {"levels"}});
  std::size_t nobodys = 0;
  for (const formats::TraceSample& sample : trace.samples) {
    const std::uint32_t frame = trace.nodes[sample.node].frame;
    if (sample.node == 0 || trace.frames[frame].kind != formats::TraceFrame::Kind::kNobody) continue;
    ++nobodys;
    EXPECT_THAT(trace.frames[frame].name, HasSubstr("["));
    EXPECT_EQ(trace.owners[sample.labels], trace.frames[frame].name);
  }
  EXPECT_GT(nobodys, 0u);
}

TEST(MakeTrace, SamplesAreInTheOrderOfTimeWithTheirThread) {
  const query::Profile profile = test::sample_profile();
  const formats::Trace trace = trace_of(profile, {});
  for (std::size_t i = 1; i < trace.samples.size(); ++i)
    EXPECT_LE(trace.samples[i - 1].time, trace.samples[i].time);
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].pid, tailor::test::kSampleProcess.pid);
  EXPECT_EQ(trace.threads[0].tid, 4243);
  EXPECT_EQ(trace.threads[0].thread, "worker-1");
  EXPECT_EQ(trace.threads[0].process, "weft (4242)");
  EXPECT_EQ(trace.threads[0].service, "weft");
  EXPECT_EQ(trace.threads[0].version, "0.1.0");
  ASSERT_EQ(trace.sources.size(), 1u);
  EXPECT_EQ(trace.sources[0].unit, "nanoseconds");
  EXPECT_FALSE(trace.sources[0].off_cpu);
}

TEST(MakeTrace, ExecutionsAreDrawnWithinTheChosenTime) {
  const query::Profile profile = test::sample_profile();
  const TimeNs start = tailor::test::kSampleStart;
  ASSERT_EQ(trace_of(profile, {}).executions.size(), 1u);
  const formats::Trace part = trace_of(profile, {.from = start + 5, .to = start + 9});
  ASSERT_EQ(part.executions.size(), 1u);
  EXPECT_EQ(part.executions[0].name, "figure-9");
  EXPECT_EQ(part.executions[0].begin, start + 5);
  EXPECT_EQ(part.executions[0].end, start + 9);
  EXPECT_TRUE(trace_of(profile, {.to = start}).executions.empty());
}

TEST(MakeTrace, KeepsTheSamplesThatAreWanted) {
  const query::Profile profile = test::sample_profile();
  TraceOptions options;
  options.keep = [](const query::TimedSample& sample) { return sample.key->engine_component != 0; };
  EXPECT_EQ(trace_of(profile, options).samples.size(), 2u * test::kRounds);
  options.keep = [](const query::TimedSample&) { return false; };
  EXPECT_FALSE(make_trace(profile, {}, options));
}

// A file is replaced while the process runs: two samples at one address are in two files of one name.
query::Profile of_two_files() {
  return test::load([](profile::ProfileSink& sink) {
    tailor::test::give_context(sink);
    const TimeNs start = tailor::test::kSampleStart;
    std::vector<profile::SampleRecord> samples;
    for (const auto& [time, build_id] : {std::pair(start, "c0ffee"), std::pair(start + 1000, "beef")}) {
      sink.on_mapping({tailor::test::kSampleProcess, time, 0x500000, 0x1000, 0, "/lib/libx.so", build_id});
      samples.push_back(tailor::test::component_sample(time + 10, 1));
      samples.back().ip = samples.back().user_ip = 0x500010;
    }
    sink.on_samples(samples);
    sink.on_watermark(start + 2000);
  });
}

TEST(MakeTrace, FramesHaveTheBuildIdOfTheirFileWhereItIsAskedFor) {
  const query::Profile profile = of_two_files();
  std::vector<std::string> found;
  for (const formats::TraceFrame& frame :
       trace_of(profile, {.levels = {"function"}, .build_ids = true}).frames) {
    EXPECT_EQ(frame.object, "libx.so");
    found.push_back(frame.build_id);
  }
  EXPECT_THAT(found, ElementsAre("c0ffee", "beef"));
  const formats::Trace plain = trace_of(profile, {.levels = {"function"}});
  ASSERT_EQ(plain.frames.size(), 1u) << "who does not ask sees one function";
  EXPECT_EQ(plain.frames[0].build_id, "");
}

TEST(MakeTrace, SamplesHaveWhatTracingKnowsOfTheirExecution) {
  const query::Profile profile = test::load([](profile::ProfileSink& sink) {
    tailor::test::give_context(sink);
    profile::ExecutionRecord execution;
    execution.process = tailor::test::kSampleProcess;
    execution.handle = tailor::test::kSampleExecution;
    execution.labels = {{"trace_id", "t1"}, {"span_id", "s1"}};
    sink.on_execution(execution);
    profile::SampleRecord outside = tailor::test::component_sample(tailor::test::kSampleStart + 2, 2);
    outside.attribution.execution = 0;
    const profile::SampleRecord samples[] = {
        tailor::test::component_sample(tailor::test::kSampleStart + 1, 1), outside};
    sink.on_samples(samples);
    sink.on_watermark(tailor::test::kSampleStart + 2);
  });
  TraceOptions options;
  options.fingerprint = [](ProcessId, ExecutionHandle handle) { return "f" + std::to_string(handle); };
  const formats::Trace trace = trace_of(profile, options);
  ASSERT_EQ(trace.samples.size(), 2u);
  ASSERT_EQ(trace.runs.size(), trace.labels.size());
  EXPECT_EQ(trace.runs[trace.samples[0].labels], (formats::TraceRun{"f3", "t1", "s1"}));
  EXPECT_EQ(trace.runs[trace.samples[1].labels], formats::TraceRun{});
  const formats::Trace plain = trace_of(profile, {});
  EXPECT_EQ(plain.runs[plain.samples[0].labels], (formats::TraceRun{"", "t1", "s1"}));
}

TEST(MakeTrace, AnUnknownLevelFailsAndNamesTheKnown) {
  const query::Profile profile = test::sample_profile();
  const auto trace = make_trace(profile, {}, {.levels = {"operators"}});
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("operator"));
}

TEST(MakeTrace, WithoutSamplesThereIsNothing) {
  const query::Profile profile =
      test::load([](profile::ProfileSink& sink) { tailor::test::give_context(sink); });
  EXPECT_FALSE(make_trace(profile, {}, {}));
}

}  // namespace
}  // namespace tailor::exporter
