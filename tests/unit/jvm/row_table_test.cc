// From HotSpot's program counters to runs of bytes.
#include "agent/jvm/row_table.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace tailor::jvm {
namespace {

using RunTuple = std::tuple<std::uint32_t, std::uint32_t, bool, bool>;

std::vector<RunTuple> runs(const CompiledCode& code) {
  std::vector<RunTuple> out;
  for (const CodeRun& run : runs_of(code)) out.emplace_back(run.offset, run.state, run.known, run.inferred);
  return out;
}

// Code whose state i ends at ends[i] and is on line lines[i] of one method.
CompiledCode code_of(std::uint32_t size, const std::vector<std::uint32_t>& ends,
                     std::vector<int> lines = {}) {
  CompiledCode code;
  code.base = 0x1000;
  code.size = size;
  code.methods = {{"A.run", "A", "A.java"}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    code.frames.push_back({0, lines.empty() ? static_cast<int>(i) : lines[i]});
    code.states.push_back({ends[i], static_cast<std::uint32_t>(i), 1});
  }
  return code;
}

TEST(RowTable, AStateEndsItsRange) {
  EXPECT_EQ(runs(code_of(100, {10, 11, 40})),
            (std::vector<RunTuple>{
                {0, 0, true, false}, {11, 1, true, false}, {12, 2, true, false}, {41, 0, false, false}}));
}

TEST(RowTable, BehindTheLastStateNothingIsKnown) {
  EXPECT_EQ(runs(code_of(41, {40})), (std::vector<RunTuple>{{0, 0, true, false}}));
  EXPECT_EQ(runs(code_of(41, {})), (std::vector<RunTuple>{{0, 0, false, false}}));
}

TEST(RowTable, TheReturnBehindAPollBelongsToTheStateOfThePoll) {
  CompiledCode code = code_of(100, {10, 40, 60});
  code.pops = {{36, 37, 48}};
  EXPECT_EQ(runs(code),
            (std::vector<RunTuple>{
                {0, 0, true, false}, {11, 1, true, false}, {48, 2, true, false}, {61, 0, false, false}}));
}

TEST(RowTable, TheLastStateCountsUpToTheLastReturnAndIsInferredThere) {
  CompiledCode code = code_of(100, {10, 40});
  code.pops = {{20, 21, 30}, {50, 51, 60}};
  EXPECT_EQ(runs(code),
            (std::vector<RunTuple>{
                {0, 0, true, false}, {11, 1, true, false}, {41, 1, true, true}, {60, 0, false, false}}));
  code.states.clear();
  EXPECT_EQ(runs(code), (std::vector<RunTuple>{{0, 0, false, false}})) << "no state, nothing known";
}

TEST(RowTable, StatesThatMakeNoSenseAreLeftOut) {
  EXPECT_EQ(runs(code_of(50, {10, 10, 5, 50, 4000000000u, 30})),
            (std::vector<RunTuple>{{0, 0, true, false}, {11, 5, true, false}, {31, 0, false, false}}));
  CompiledCode code = code_of(20, {5, 19});
  code.states[0].frames = 0;
  EXPECT_EQ(runs(code), (std::vector<RunTuple>{{0, 1, true, false}}));
}

TEST(RowTable, WithoutDetailsEverythingIsInferred) {
  CompiledCode code = code_of(50, {10, 49});
  code.detailed = false;
  EXPECT_EQ(runs(code), (std::vector<RunTuple>{{0, 0, true, true}, {11, 1, true, true}}));
}

// Every other one of `count` states is on line 7.
CompiledCode with_bulk(std::uint32_t count, int level) {
  std::vector<std::uint32_t> ends;
  std::vector<int> lines;
  for (std::uint32_t i = 0; i < count; ++i) {
    ends.push_back(10 * i + 9);
    lines.push_back(i % 2 == 0 ? 7 : 100 + static_cast<int>(i));
  }
  CompiledCode code = code_of(10 * count, ends, lines);
  code.facts.level = level;
  return code;
}

TEST(RowTable, AStateThatComesBackEverywhereIsInferred) {
  const CompiledCode code = with_bulk(60, 4);
  for (const CodeRun& run : runs_of(code)) EXPECT_EQ(run.inferred, run.state % 2 == 0) << run.state;
  for (const CodeRun& run : runs_of(with_bulk(60, 3))) EXPECT_FALSE(run.inferred) << "C1 does not do that";
  for (const CodeRun& run : runs_of(with_bulk(20, 4))) EXPECT_FALSE(run.inferred) << "too little to tell";
}

TEST(RowTable, ALongLoopIsNoBulk) {
  // Fifty states side by side on one line.
  std::vector<std::uint32_t> ends;
  std::vector<int> lines;
  for (std::uint32_t i = 0; i < 60; ++i) {
    ends.push_back(10 * i + 9);
    lines.push_back(i < 50 ? 7 : 100 + static_cast<int>(i));
  }
  CompiledCode code = code_of(600, ends, lines);
  code.facts.level = 4;
  for (const CodeRun& run : runs_of(code)) EXPECT_FALSE(run.inferred);
}

}  // namespace
}  // namespace tailor::jvm
