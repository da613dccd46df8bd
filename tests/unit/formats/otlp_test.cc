#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "daemon/formats/trace_writers.h"
#include "tests/unit/formats/otlp_reader.h"

namespace tailor::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using OtlpPairs = std::multimap<std::string, std::string>;

OtlpPairs otlp_pairs(const OtlpRead& read, const OtlpIndices& attributes) {
  OtlpPairs out;
  for (const std::int32_t index : attributes) {
    const OtlpRead::Attribute& each = read.attributes.at(static_cast<std::size_t>(index));
    out.emplace(read.strings.at(static_cast<std::size_t>(each.key)), each.value);
  }
  return out;
}

// File and build id of each mapping but the first.
std::multimap<std::string, std::string> otlp_files(const OtlpRead& read) {
  std::multimap<std::string, std::string> out;
  for (std::size_t i = 1; i < read.mappings.size(); ++i) {
    const OtlpPairs pairs = otlp_pairs(read, read.mappings[i].attributes);
    const auto id = pairs.find("process.executable.build_id.gnu");
    out.emplace(read.strings.at(static_cast<std::size_t>(read.mappings[i].file)),
                id == pairs.end() ? "" : id->second);
  }
  return out;
}

// Two threads of a process, two sources; a process of one sample.
Trace otlp_trace() {
  Trace out;
  out.producer = "tailor test";
  out.host = "h";
  out.wall_ns = 1'700'000'000'000'000'000;
  out.start = 1'000'000;
  out.end = 9'000'000;
  out.sources = {{"cpu-clock", "nanoseconds", 1'000'000, false},
                 {"cache-misses", "count", 100, false},
                 {"sched:sched_switch", "nanoseconds", 1, true}};
  out.threads = {{5, 5, "init (5)", "init", "init", ""},
                 {7, 7, "engine (7)", "main", "engine", "1.2"},
                 {7, 8, "engine (7)", "worker", "engine", "1.2"}};
  out.frames = {{TraceFrame::Kind::kOperator, "Hash;join \"a\"\n\xff", ""},
                {TraceFrame::Kind::kFunction, "probe<int, long>", "lib,engine.so", "c0ffee"},
                {TraceFrame::Kind::kKernel, "page_fault", "[kernel]"}};
  out.nodes = {{}, {0, 0}, {1, 1}, {2, 2}};
  out.labels = {{}, {{"operator", "Hash join"}, {"execution", "e1"}}};
  out.owners = {"[no plan]", "Hash join"};
  out.runs = {{}, {"f1", "0AF7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"}};
  out.samples = {{1'500'000, 1'000'000, 0, 0, 0, 0}, {2'000'000, 1'000'000, 1, 2, 1, 0},
                 {3'000'000, 1'500'000, 2, 3, 1, 0}, {4'000'000, 100, 1, 2, 1, 1},
                 {5'000'000, 1'000'000, 1, 0, 0, 0}, {6'000'000, 1'000'000, 1, 2, 1, 0},
                 {7'000'000, 70'000, 1, 2, 1, 2}};
  return out;
}

TEST(Otlp, EveryIndexLeadsToAnEntry) {
  const OtlpRead read = read_otlp(write_otlp(otlp_trace()));
  EXPECT_THAT(otlp_strays(read), IsEmpty());
  EXPECT_EQ(read.entries.size(), 7u) << "a table is missing";
  EXPECT_EQ(read.stacks.size(), 3u) << "the one without frames is the first";
}

TEST(Otlp, AnIndexThatLeadsNowhereIsNoticed) {
  const OtlpRead good = read_otlp(write_otlp(otlp_trace()));
  const auto strays = [&](const std::function<void(OtlpRead&)>& change) {
    OtlpRead bad = good;
    change(bad);
    return otlp_strays(bad);
  };
  EXPECT_THAT(strays([](OtlpRead& bad) { bad.profiles[0].samples[0].stack = 3; }), ElementsAre("stack"));
  EXPECT_THAT(strays([](OtlpRead& bad) { bad.profiles[0].samples[0].link = -1; }), ElementsAre("link"));
  EXPECT_THAT(strays([](OtlpRead& bad) { bad.stacks.back().push_back(99); }), ElementsAre("location"));
  EXPECT_THAT(strays([](OtlpRead& bad) { bad.mappings.pop_back(); }), ElementsAre("mapping"));
  EXPECT_THAT(strays([](OtlpRead& bad) { bad.functions.pop_back(); }), ElementsAre("function"));
  EXPECT_THAT(strays([](OtlpRead& bad) { bad.mappings[1].attributes = {99}; }),
              ElementsAre("attribute of a mapping"));
}

TEST(Otlp, TheFirstEntryOfEachTableSaysNothingAndNoneIsThereTwice) {
  Trace trace = otlp_trace();
  trace.frames.push_back({TraceFrame::Kind::kFunction, "", ""});  // names that are empty, or become one
  trace.frames.push_back({TraceFrame::Kind::kFunction, "\xfe", ""});
  trace.frames.push_back({TraceFrame::Kind::kFunction, "\xff", ""});
  trace.nodes.insert(trace.nodes.end(), {{1, 3}, {1, 4}, {1, 5}});
  for (const std::uint32_t node : {4u, 5u, 6u}) trace.samples.push_back({8'000'000, 1, 1, node, 0, 0});
  const OtlpRead read = read_otlp(write_otlp(trace));
  for (const auto& [table, entries] : read.entries) {
    const std::string nothing =
        table == 4 ? "\x0a\x10" + std::string(16, '\0') + "\x12\x08" + std::string(8, '\0') : "";
    EXPECT_EQ(entries.front(), nothing) << table;
    EXPECT_EQ(std::set<std::string>(entries.begin(), entries.end()).size(), entries.size()) << table;
  }
  const std::set<std::int32_t> names(read.functions.begin(), read.functions.end());
  EXPECT_EQ(names.size(), read.functions.size()) << "one of no name is the first";
}

// Weights by type and operator.
std::map<std::string, std::int64_t> otlp_sums(const OtlpRead& read) {
  std::map<std::string, std::int64_t> out;
  for (const OtlpProfileRead& profile : read.profiles) {
    for (const OtlpSampleRead& sample : profile.samples) {
      const OtlpPairs pairs = otlp_pairs(read, sample.attributes);
      const auto name = pairs.find("tailor.operator");
      for (const std::int64_t value : sample.values)
        out[read.strings.at(static_cast<std::size_t>(profile.type)) + ": " +
            (name == pairs.end() ? "" : name->second)] += value;
    }
  }
  return out;
}

TEST(Otlp, SumsAreThoseOfTheTrace) {
  const std::map<std::string, std::int64_t> right = {{"cpu: ", 2'000'000},
                                                     {"cpu: Hash join", 3'500'000},
                                                     {"cache-misses: Hash join", 100},
                                                     {"off_cpu: Hash join", 70'000}};
  EXPECT_EQ(otlp_sums(read_otlp(write_otlp(otlp_trace()))), right);
  Trace changed = otlp_trace();
  changed.samples[5].labels = 0;
  EXPECT_NE(otlp_sums(read_otlp(write_otlp(changed))), right);
  Trace timeless = otlp_trace();
  timeless.wall_ns = 0;
  EXPECT_EQ(otlp_sums(read_otlp(write_otlp(timeless))), right);
}

TEST(Otlp, WithoutTheTimeOfDayASampleHasOneValueAndNoTime) {
  Trace trace = otlp_trace();
  std::size_t values = 0;
  for (const OtlpProfileRead& profile : read_otlp(write_otlp(trace)).profiles) {
    for (const OtlpSampleRead& sample : profile.samples) {
      EXPECT_EQ(sample.values.size(), sample.times.size());
      values += sample.values.size();
      for (const std::uint64_t time : sample.times) EXPECT_EQ(time / 1'000'000'000, 1'700'000'000u);
    }
  }
  EXPECT_EQ(values, trace.samples.size());
  trace.wall_ns = 0;
  for (const OtlpProfileRead& profile : read_otlp(write_otlp(trace)).profiles) {
    for (const OtlpSampleRead& sample : profile.samples) {
      EXPECT_EQ(sample.values.size(), 1u);
      EXPECT_THAT(sample.times, IsEmpty());
    }
  }
}

TEST(Otlp, TheProcessWithMostSamplesComesFirst) {
  const OtlpRead read = read_otlp(write_otlp(otlp_trace()));
  ASSERT_EQ(read.resources.size(), 2u);
  EXPECT_THAT(read.resources[0],
              ElementsAre(std::pair("host.name", "h"), std::pair("process.pid", "7"),
                          std::pair("service.name", "engine"), std::pair("service.version", "1.2")));
  EXPECT_EQ(read.resources[1].at("service.name"), "init");
  EXPECT_FALSE(read.resources[1].contains("service.version"));
  EXPECT_EQ(read.profiles.size(), 4u);
  std::set<std::string> ids;
  for (const OtlpProfileRead& profile : read.profiles) ids.insert(profile.id);
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_EQ(ids.begin()->size(), 16u);
}

TEST(Otlp, TwoProgramsOfOnePidAreTwo) {
  Trace trace = otlp_trace();
  trace.threads[0] = {7, 7, "init (7)", "init", "", ""};
  const OtlpRead read = read_otlp(write_otlp(trace));
  ASSERT_EQ(read.resources.size(), 2u);
  EXPECT_EQ(read.resources[1].at("service.name"), "unknown_service");
  std::set<std::string> ids;
  for (const OtlpProfileRead& profile : read.profiles) ids.insert(profile.id);
  EXPECT_EQ(ids.size(), 4u);
}

TEST(Otlp, MappingsHaveTheBuildIdOfTheirFile) {
  Trace trace = otlp_trace();
  EXPECT_THAT(otlp_files(read_otlp(write_otlp(trace))),
              UnorderedElementsAre(std::pair("lib,engine.so", "c0ffee"), std::pair("[kernel]", "")));
  trace.frames[2] = trace.frames[1];  // another file of the name, and what is no build id
  for (const char* id : {"beef", "bee", "be ef\x1b[2J"}) {
    trace.frames[2].build_id = id;
    EXPECT_THAT(otlp_files(read_otlp(write_otlp(trace))),
                UnorderedElementsAre(std::pair("lib,engine.so", "c0ffee"),
                                     std::pair("lib,engine.so", std::string(id) == "beef" ? "beef" : "")));
  }
}

std::string otlp_link(const Trace& trace) {
  const OtlpRead read = read_otlp(write_otlp(trace));
  for (const OtlpSampleRead& sample : read.profiles.front().samples) {
    if (sample.link != 0) return read.links.at(static_cast<std::size_t>(sample.link));
  }
  return "";
}

TEST(Otlp, ALinkNeedsBothIds) {
  Trace trace = otlp_trace();
  EXPECT_EQ(otlp_link(trace),
            "\x0a\x10\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
            "\x12\x08" +
                std::string("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7", 8));
  const TraceRun good = trace.runs[1];
  for (const TraceRun& bad :
       {TraceRun{"", good.trace_id, ""}, TraceRun{"", "", good.span_id},
        TraceRun{"", good.trace_id, "0000000000000000"}, TraceRun{"", std::string(32, '0'), good.span_id},
        TraceRun{"", good.trace_id, "00f067aa0ba902b"},
        TraceRun{"", good.trace_id.substr(1) + "g", good.span_id},
        TraceRun{"", good.trace_id + "00", good.span_id}}) {
    trace.runs[1] = bad;
    EXPECT_EQ(otlp_link(trace), "") << bad.trace_id << "-" << bad.span_id;
  }
}

OtlpPairs otlp_pairs_of_operator(const Trace& trace) {
  const OtlpRead read = read_otlp(write_otlp(trace));
  for (const OtlpSampleRead& sample : read.profiles.front().samples) {
    OtlpPairs pairs = otlp_pairs(read, sample.attributes);
    if (pairs.contains("tailor.operator")) return pairs;
  }
  return {};
}

TEST(Otlp, SamplesHaveAttributes) {
  EXPECT_EQ(otlp_pairs_of_operator(otlp_trace()),
            (OtlpPairs{{"tailor.operator", "Hash join"},
                       {"tailor.execution", "e1"},
                       {"tailor.fingerprint", "f1"},
                       {"tailor.trace_id", "0AF7651916cd43dd8448eb211c80319c"},
                       {"thread.id", "7"},
                       {"thread.name", "main"}}));
}

TEST(Otlp, TheKeysOfASampleAreDifferent) {
  Trace trace = otlp_trace();
  // A plan may name its levels so.
  trace.labels[1].insert(trace.labels[1].end(),
                         {{"execution", "x"}, {"fingerprint", "y"}, {"\xfe", "1"}, {"\xff", "2"}});
  const std::string unreadable = "tailor.\xEF\xBF\xBD";
  EXPECT_EQ(otlp_pairs_of_operator(trace), (OtlpPairs{{"tailor.operator", "Hash join"},
                                                      {"tailor.execution", "e1"},
                                                      {"tailor.execution_", "x"},
                                                      {"tailor.fingerprint", "y"},
                                                      {"tailor.fingerprint_", "f1"},
                                                      {unreadable, "1"},
                                                      {unreadable + "_", "2"},
                                                      {"tailor.trace_id", "0AF7651916cd43dd8448eb211c80319c"},
                                                      {"thread.id", "7"},
                                                      {"thread.name", "main"}}));
}

}  // namespace
}  // namespace tailor::formats
