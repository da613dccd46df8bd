// What tests/e2e/otlp.py reads by the published descriptors is read here by the numbers of the fields, so
// that traces can be made that no recording gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "daemon/formats/trace_writers.h"

namespace tailor::formats {
namespace {

using protozero::pbf_reader;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using OtlpIndices = std::vector<std::int32_t>;

struct OtlpSampleRead {
  std::int32_t stack = 0, link = 0;
  OtlpIndices attributes;
  std::vector<std::int64_t> values;
  std::vector<std::uint64_t> times;
};

struct OtlpProfileRead {
  std::size_t resource = 0;
  std::int32_t type = 0, unit = 0;
  std::vector<OtlpSampleRead> samples;
  std::string id;
};

struct OtlpRead {
  struct Mapping {
    std::int32_t file = 0;
    OtlpIndices attributes;
  };
  struct Location {
    std::int32_t mapping = 0, function = 0;
    OtlpIndices attributes;
  };
  struct Attribute {
    std::int32_t key = 0;
    std::string value;
  };
  std::vector<std::map<std::string, std::string>> resources;
  std::vector<OtlpProfileRead> profiles;
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  OtlpIndices functions;  // their names
  std::vector<std::string> links, strings;
  std::vector<Attribute> attributes;
  std::vector<OtlpIndices> stacks;
  std::map<int, std::vector<std::string>> entries;  // of the tables, by their field: as they are written
};

OtlpIndices otlp_indices(pbf_reader& from) {
  const auto range = from.get_packed_int32();
  return {range.begin(), range.end()};
}

// With a number as text.
std::string otlp_value(pbf_reader any) {
  std::string out;
  while (any.next()) {
    if (any.tag() == 1) {
      out = any.get_string();
    } else if (any.tag() == 3) {
      out = std::to_string(any.get_int64());
    } else {
      ADD_FAILURE() << "a value has the field " << any.tag();
      any.skip();
    }
  }
  return out;
}

OtlpSampleRead otlp_sample(pbf_reader in) {
  OtlpSampleRead out;
  while (in.next()) {
    if (in.tag() == 1)
      out.stack = in.get_int32();
    else if (in.tag() == 2)
      out.attributes = otlp_indices(in);
    else if (in.tag() == 3)
      out.link = in.get_int32();
    else if (in.tag() == 4)
      for (const std::int64_t each : in.get_packed_int64()) out.values.push_back(each);
    else if (in.tag() == 5)
      for (const std::uint64_t each : in.get_packed_fixed64()) out.times.push_back(each);
    else
      in.skip();
  }
  return out;
}

OtlpProfileRead otlp_profile(pbf_reader in) {
  OtlpProfileRead out;
  while (in.next()) {
    if (in.tag() == 2) {
      out.samples.push_back(otlp_sample(in.get_message()));
    } else if (in.tag() == 7) {
      out.id = in.get_string();
    } else if (in.tag() == 1) {
      pbf_reader type = in.get_message();
      while (type.next()) {
        std::int32_t& index = type.tag() == 1 ? out.type : out.unit;
        index = type.get_int32();
      }
    } else {
      in.skip();
    }
  }
  return out;
}

std::map<std::string, std::string> otlp_resource(pbf_reader in) {
  std::map<std::string, std::string> out;
  while (in.next(1)) {
    std::string key;
    pbf_reader pair = in.get_message();
    while (pair.next()) {
      if (pair.tag() == 1)
        key = pair.get_string();
      else
        out[key] = otlp_value(pair.get_message());
    }
  }
  return out;
}

void read_scope(pbf_reader in, OtlpRead& out) {
  while (in.next()) {
    if (in.tag() != 2) {
      in.skip();
      continue;
    }
    out.profiles.push_back(otlp_profile(in.get_message()));
    out.profiles.back().resource = out.resources.size() - 1;
  }
}

OtlpRead::Location otlp_location(pbf_reader in) {
  OtlpRead::Location out;
  while (in.next()) {
    if (in.tag() == 1) {
      out.mapping = in.get_int32();
    } else if (in.tag() == 3) {
      pbf_reader line = in.get_message();
      while (line.next(1)) out.function = line.get_int32();
    } else {
      out.attributes = otlp_indices(in);
    }
  }
  return out;
}

void read_entry(int table, pbf_reader in, OtlpRead& out) {
  OtlpRead::Mapping mapping;
  OtlpRead::Attribute attribute;
  std::int32_t function = 0;
  OtlpIndices stack;
  if (table == 2) out.locations.push_back(otlp_location(in));
  while (in.next()) {
    if (table == 1 && in.tag() == 4)
      mapping.file = in.get_int32();
    else if (table == 1 && in.tag() == 5)
      mapping.attributes = otlp_indices(in);
    else if (table == 3 && in.tag() == 1)
      function = in.get_int32();
    else if (table == 6 && in.tag() == 1)
      attribute.key = in.get_int32();
    else if (table == 6 && in.tag() == 2)
      attribute.value = otlp_value(in.get_message());
    else if (table == 7 && in.tag() == 1)
      stack = otlp_indices(in);
    else
      in.skip();
  }
  if (table == 1) out.mappings.push_back(mapping);
  if (table == 3) out.functions.push_back(function);
  if (table == 6) out.attributes.push_back(attribute);
  if (table == 7) out.stacks.push_back(stack);
}

void read_tables(pbf_reader in, OtlpRead& out) {
  while (in.next()) {
    const int table = static_cast<int>(in.tag());
    const std::string bytes = in.get_string();
    out.entries[table].push_back(bytes);
    if (table == 5)
      out.strings.push_back(bytes);
    else if (table == 4)
      out.links.push_back(bytes);
    else
      read_entry(table, pbf_reader(bytes), out);
  }
}

OtlpRead read_otlp(const std::string& bytes) {
  OtlpRead out;
  for (pbf_reader in(bytes); in.next();) {
    if (in.tag() == 2) {
      read_tables(in.get_message(), out);
      continue;
    }
    pbf_reader part = in.get_message();
    out.resources.emplace_back();
    while (part.next()) {
      if (part.tag() == 1)
        out.resources.back() = otlp_resource(part.get_message());
      else
        read_scope(part.get_message(), out);
    }
  }
  return out;
}

// Where an index stands that leads to no entry.
std::set<std::string> otlp_strays(const OtlpRead& read) {
  std::set<std::string> out;
  const auto follow = [&](const char* where, std::int32_t index, std::size_t size) {
    if (index < 0 || static_cast<std::size_t>(index) >= size) out.insert(where);
  };
  const auto follow_all = [&](const char* where, const OtlpIndices& indices, std::size_t size) {
    for (const std::int32_t index : indices) follow(where, index, size);
  };
  for (const OtlpProfileRead& profile : read.profiles) {
    follow("type", profile.type, read.strings.size());
    follow("unit", profile.unit, read.strings.size());
    for (const OtlpSampleRead& sample : profile.samples) {
      follow("stack", sample.stack, read.stacks.size());
      follow("link", sample.link, read.links.size());
      follow_all("attribute of a sample", sample.attributes, read.attributes.size());
    }
  }
  for (const OtlpIndices& stack : read.stacks) follow_all("location", stack, read.locations.size());
  for (const OtlpRead::Location& location : read.locations) {
    follow("mapping", location.mapping, read.mappings.size());
    follow("function", location.function, read.functions.size());
    follow_all("attribute of a location", location.attributes, read.attributes.size());
  }
  for (const OtlpRead::Mapping& mapping : read.mappings) {
    follow("file", mapping.file, read.strings.size());
    follow_all("attribute of a mapping", mapping.attributes, read.attributes.size());
  }
  follow_all("name", read.functions, read.strings.size());
  for (const OtlpRead::Attribute& attribute : read.attributes)
    follow("key", attribute.key, read.strings.size());
  return out;
}

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
