#include "daemon/formats/trace_writers.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <sstream>

namespace tailor::formats {
namespace {

using nlohmann::json;
using protozero::pbf_reader;

// Two threads, two sources; names that no format takes as they are.
Trace trace() {
  Trace out;
  out.producer = "tailor test";
  out.start = 1'000'000;
  out.end = 9'000'000;
  out.sources = {{"cpu-clock", "nanoseconds", 1'000'000, false}, {"cache-misses", "count", 100, false}};
  out.threads = {{7, 7, "engine", "main"}, {7, 8, "engine", "worker"}};
  out.frames = {{TraceFrame::Kind::kOperator, "Hash;join \"a\"\n\xff", ""},
                {TraceFrame::Kind::kFunction, "probe<int, long>", "lib,engine.so"},
                {TraceFrame::Kind::kKernel, "page_fault", "[kernel]"}};
  out.nodes = {{}, {0, 0}, {1, 1}, {2, 2}};
  out.labels = {{}, {{"operator", "Hash join"}, {"execution", "e1"}}};
  out.owners = {"[no plan]", "Hash join"};
  out.runs = {{}, {}};
  out.label_keys = {"execution", "operator"};
  out.samples = {{2'000'000, 1'000'000, 0, 2, 1, 0},
                 {3'000'000, 1'500'000, 1, 3, 1, 0},
                 {4'000'000, 100, 0, 2, 1, 1},
                 {5'000'000, 1'000'000, 0, 0, 0, 0},
                 {6'000'000, 1'000'000, 0, 2, 1, 0}};
  out.executions = {{"select 1", "e1", 7, 1'500'000, 8'000'000}};
  return out;
}

constexpr std::uint64_t kTime = 4'500'000;

TEST(TraceWriters, FoldedStacksHaveAllTheWeightOfTheirSource) {
  std::istringstream in(write_folded(trace(), 0));
  std::map<std::string, std::uint64_t> found;
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.rfind(' ');
    ASSERT_NE(space, line.npos) << line;
    found[line.substr(0, space)] += std::stoull(line.substr(space + 1));
  }
  const std::string op = "Hash:join \"a\" \xEF\xBF\xBD";
  EXPECT_EQ(found, (std::map<std::string, std::uint64_t>{{op + ";probe<int, long>", 2'000'000},
                                                         {op + ";probe<int, long>;page_fault_[k]", 1'500'000},
                                                         {"", 1'000'000}}));
}

// These files are looked at with cat: nothing in them is for a terminal to obey.
TEST(TraceWriters, FoldedNamesHaveNothingThatATerminalObeys) {
  Trace hostile = trace();
  hostile.frames[1].name =
      "a\x1b[2J\x7f\xc2\x9b"
      "b\xe2\x80\xae"
      "c\xe2\x81\xa6"
      "d";  // ESC, DEL, CSI, RLO, LRI
  const std::string folded = write_folded(hostile, 0);
  EXPECT_NE(folded.find("a [2J  b c d"), folded.npos) << folded;
}

struct Pprof {
  std::vector<std::string> strings;
  std::vector<std::vector<std::int64_t>> values;
  std::vector<std::vector<std::uint64_t>> stacks;
  std::map<std::uint64_t, std::uint64_t> functions;  // location -> function
  std::map<std::uint64_t, std::int64_t> names;
  std::vector<std::int64_t> files;  // of the mappings
};

Pprof read_pprof(const std::string& bytes) {
  Pprof out;
  for (pbf_reader profile(bytes); profile.next();) {
    if (profile.tag() == 6) {
      out.strings.push_back(profile.get_string());
    } else if (profile.tag() == 2) {
      pbf_reader sample = profile.get_message();
      while (sample.next()) {
        if (sample.tag() == 1) {
          auto& stack = out.stacks.emplace_back();
          for (const std::uint64_t id : sample.get_packed_uint64()) stack.push_back(id);
        } else if (sample.tag() == 2) {
          auto& values = out.values.emplace_back();
          for (const std::int64_t value : sample.get_packed_int64()) values.push_back(value);
        } else {
          sample.skip();
        }
      }
    } else if (profile.tag() == 3) {
      pbf_reader mapping = profile.get_message();
      while (mapping.next()) {
        if (mapping.tag() == 5) {
          out.files.push_back(mapping.get_int64());
        } else {
          mapping.skip();
        }
      }
    } else if (profile.tag() == 4) {
      pbf_reader location = profile.get_message();
      std::uint64_t id = 0;
      while (location.next()) {
        if (location.tag() == 1) {
          id = location.get_uint64();
        } else if (location.tag() == 4) {
          pbf_reader line = location.get_message();
          while (line.next()) out.functions[id] = line.get_uint64();
        } else {
          location.skip();
        }
      }
    } else if (profile.tag() == 5) {
      pbf_reader function = profile.get_message();
      std::uint64_t id = 0;
      while (function.next()) {
        if (function.tag() == 1) {
          id = function.get_uint64();
        } else if (function.tag() == 2) {
          out.names[id] = function.get_int64();
        } else {
          function.skip();
        }
      }
    } else {
      profile.skip();
    }
  }
  return out;
}

TEST(TraceWriters, PprofKeepsEverySourceApart) {
  const Pprof read = read_pprof(write_pprof(trace()));
  ASSERT_FALSE(read.strings.empty());
  EXPECT_EQ(read.strings[0], "");
  std::vector<std::int64_t> sums(4);
  for (const auto& values : read.values) {
    ASSERT_EQ(values.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) sums[i] += values[i];
  }
  EXPECT_EQ(sums, (std::vector<std::int64_t>{4, kTime, 1, 100}));
  std::size_t innermost_kernel = 0;
  for (const auto& stack : read.stacks) {
    for (const std::uint64_t location : stack) {
      ASSERT_TRUE(read.functions.contains(location));
      ASSERT_TRUE(read.names.contains(read.functions.at(location)));
    }
    if (!stack.empty() &&
        read.strings.at(static_cast<std::size_t>(read.names.at(stack.front()))) == "page_fault")
      innermost_kernel += stack.size() == 3;
  }
  EXPECT_EQ(innermost_kernel, 1u) << "the innermost frame comes first";
}

// Readers take the first mapping for the program.
TEST(TraceWriters, PprofNamesTheProgramFirst) {
  for (const char* program : {"", "engine", "[kernel]"}) {
    Trace named = trace();
    named.program = program;
    const Pprof read = read_pprof(write_pprof(named));
    const std::string first = *program == '\0' ? "lib,engine.so" : program;
    ASSERT_FALSE(read.files.empty());
    EXPECT_EQ(read.strings.at(static_cast<std::size_t>(read.files.front())), first);
    EXPECT_EQ(read.files.size(), first == "engine" ? 3U : 2U);
  }
}

TEST(TraceWriters, SpeedscopeHasAProfilePerThreadAndSource) {
  const json read = json::parse(write_speedscope(trace()));
  ASSERT_EQ(read["profiles"].size(), 3u);
  std::map<std::string, std::uint64_t> weights;
  for (const json& profile : read["profiles"]) {
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    std::uint64_t sum = 0;
    for (const json& weight : profile["weights"]) sum += weight.get<std::uint64_t>();
    EXPECT_EQ(profile["endValue"], sum);
    weights[profile["unit"]] += sum;
    for (const json& stack : profile["samples"]) {
      for (const json& frame : stack) EXPECT_LT(frame.get<std::size_t>(), read["shared"]["frames"].size());
    }
  }
  EXPECT_EQ(weights["nanoseconds"], kTime);
  EXPECT_EQ(weights["none"], 100u);
}

TEST(TraceWriters, FirefoxTablesFitEachOther) {
  const json read = json::parse(write_firefox(trace(), 0));
  ASSERT_EQ(read["threads"].size(), 2u);
  double weight = 0;
  for (const json& thread : read["threads"]) {
    for (const char* name :
         {"samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable"}) {
      for (const auto& [key, column] : thread[name].items()) {
        if (column.is_array()) {
          EXPECT_EQ(column.size(), thread[name]["length"]) << name << "." << key;
        }
      }
    }
    for (const json& each : thread["samples"]["weight"]) weight += each.get<double>();
    const std::size_t stacks = thread["stackTable"]["length"];
    for (std::size_t i = 0; i < stacks; ++i) {
      const json& prefix = thread["stackTable"]["prefix"][i];
      EXPECT_TRUE(prefix.is_null() || prefix.get<std::size_t>() < i);
    }
    for (const json& name : thread["funcTable"]["name"])
      EXPECT_LT(name.get<std::size_t>(), thread["stringArray"].size());
  }
  EXPECT_DOUBLE_EQ(weight, static_cast<double>(kTime) / 1e6);
  EXPECT_EQ(read["threads"][0]["markers"]["length"], 1);
}

TEST(TraceWriters, CsvHasARowPerSample) {
  const std::string text = write_csv(trace());
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != text.npos; at += 2) ++rows;
  EXPECT_EQ(rows, 1 + trace().samples.size());
  EXPECT_NE(
      text.find("2000000,7,7,engine,main,cpu-clock,nanoseconds,1000000,e1,Hash join,\"probe<int, long>\","
                "\"lib,engine.so\",0\r\n"),
      text.npos)
      << text;
  EXPECT_NE(text.find("5000000,7,7,engine,main,cpu-clock,nanoseconds,1000000,,,,,\r\n"), text.npos) << text;
}

struct CounterTrack {
  std::string name;
  std::uint64_t parent = 0;
  std::vector<std::pair<std::uint64_t, double>> values;
};

// By their number.
std::map<std::uint64_t, CounterTrack> read_counters(const std::string& bytes) {
  std::map<std::uint64_t, CounterTrack> out;
  for (pbf_reader file(bytes); file.next(1);) {
    std::uint64_t time = 0;
    pbf_reader packet = file.get_message();
    while (packet.next()) {
      if (packet.tag() == 8) {
        time = packet.get_uint64();
      } else if (packet.tag() == 60) {
        std::uint64_t track = 0;
        CounterTrack read;
        bool counts = false;
        pbf_reader descriptor = packet.get_message();
        while (descriptor.next()) {
          if (descriptor.tag() == 1) {
            track = descriptor.get_uint64();
          } else if (descriptor.tag() == 2) {
            read.name = descriptor.get_string();
          } else if (descriptor.tag() == 5) {
            read.parent = descriptor.get_uint64();
          } else {
            counts |= descriptor.tag() == 8;
            descriptor.skip();
          }
        }
        if (counts) out[track] = read;
      } else if (packet.tag() == 11) {
        std::uint64_t track = 0;
        std::optional<double> value;
        pbf_reader event = packet.get_message();
        while (event.next()) {
          if (event.tag() == 11) {
            track = event.get_uint64();
          } else if (event.tag() == 44) {
            value = event.get_double();
          } else {
            event.skip();
          }
        }
        if (value) out[track].values.emplace_back(time, *value);
      } else {
        packet.skip();
      }
    }
  }
  return out;
}

double area(const CounterTrack& track) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < track.values.size(); ++i)
    sum += track.values[i].second * static_cast<double>(track.values[i + 1].first - track.values[i].first);
  return sum;
}

TEST(TraceWriters, PerfettoCountersAddUpToTheCost) {
  std::map<std::string, double> found;
  for (const auto& [number, track] : read_counters(write_perfetto(trace()))) {
    EXPECT_NE(track.parent, 0u) << track.name << " is below its process";
    EXPECT_EQ(track.values.back().second, 0) << track.name;
    found[track.name] = area(track);
  }
  ASSERT_EQ(found.size(), 3u);
  const auto time = static_cast<double>(kTime);
  EXPECT_NEAR(found.at("CPUs busy"), time, 1e-3 * time) << "the other unit is not in it";
  EXPECT_NEAR(found.at("CPUs: Hash join"), time - 1e6, 1e-3 * time);
  EXPECT_NEAR(found.at("CPUs: [no plan]"), 1e6, 1e-3 * time);
}

TEST(TraceWriters, PerfettoSlicesBeginAndEndInOrder) {
  std::map<std::uint64_t, int> open;
  std::uint64_t last = 0, samples = 0, weight = 0;
  const std::string bytes = write_perfetto(trace());
  for (pbf_reader file(bytes); file.next(1);) {
    std::uint64_t time = 0;
    pbf_reader packet = file.get_message();
    while (packet.next()) {
      if (packet.tag() == 8) {
        time = packet.get_uint64();
      } else if (packet.tag() == 11) {
        pbf_reader event = packet.get_message();
        int type = 0;
        std::uint64_t track = 0;
        while (event.next()) {
          if (event.tag() == 9) {
            type = event.get_int32();
          } else if (event.tag() == 11) {
            track = event.get_uint64();
          } else {
            event.skip();
          }
        }
        EXPECT_GE(time, last);
        last = time;
        if (type == 4) continue;  // of a counter
        open[track] += type == 1 ? 1 : -1;
        EXPECT_GE(open[track], 0);
      } else if (packet.tag() == 66) {
        ++samples;
        pbf_reader sample = packet.get_message();
        while (sample.next()) {
          if (sample.tag() == 6) {
            weight += sample.get_uint64();
          } else {
            sample.skip();
          }
        }
      } else {
        packet.skip();
      }
    }
  }
  for (const auto& [track, depth] : open) EXPECT_EQ(depth, 0) << track;
  EXPECT_EQ(samples, trace().samples.size());
  EXPECT_EQ(weight, kTime + 100);
}

}  // namespace
}  // namespace tailor::formats
