// Samples that say how the search for their callers ended.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>

#include "daemon/profile/walk_end.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

using profile::WalkEnd;

class StackWalksTest : public testing::Test {
 protected:
  static constexpr ProcessId kProcess{42, 7};
  static constexpr std::int32_t kThread = 44;
  static constexpr std::uint64_t kOutside = 0x7f00'0000'0000;
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }

  void start(bool with_ends) {
    script = std::make_unique<test::ScriptedInput>(pipeline, PERF_SAMPLE_CALLCHAIN);
    if (with_ends) script->bring_walk_ends();
    script->open();
    script->hello(kProcess, 1, 1000);
  }
  void sample(std::int32_t pid, TimeNs time, std::uint64_t word) {
    script->walk_ends(word);
    script->sample(pid, kThread, time, kOutside);
  }
  void sample(std::int32_t pid, TimeNs time, WalkEnd end) {
    sample(pid, time, 1 + static_cast<std::uint64_t>(end));
  }
  void read(TimeNs until) {
    script->read();
    pipeline.flush(until);
  }
  static std::uint64_t of(const profile::Accounting& account, WalkEnd end) {
    return account.walks[static_cast<std::size_t>(end)];
  }
  static std::uint64_t all(const profile::Accounting& account) {
    return std::accumulate(account.walks.begin(), account.walks.end(), std::uint64_t{0});
  }

  test::CollectingSink sink;
  Pipeline pipeline{sink};
  std::unique_ptr<test::ScriptedInput> script;
};

TEST_F(StackWalksTest, AreCountedByTheirEnd) {
  start(true);
  sample(42, ms(2), WalkEnd::kBegin);
  sample(42, ms(3), WalkEnd::kShortStack);
  sample(42, ms(4), WalkEnd::kKnown);
  sample(42, ms(5), WalkEnd::kShortStack);
  sample(42, ms(6), WalkEnd::kFrames);
  sample(42, ms(7), std::uint64_t{0});                       // it brought no stack
  sample(42, ms(8), std::uint64_t{profile::kWalkEnds} + 1);  // what no walk gives
  sample(42, ms(9), ~std::uint64_t{0});
  script->forks(42, 77, ms(10));
  sample(77, ms(11), WalkEnd::kNonsense);
  read(ms(20));
  EXPECT_EQ(sink.samples.size(), 9u) << "each sample is kept, whatever its stack says";
  const profile::Accounting& account = sink.accounting.at(kProcess);
  EXPECT_EQ(account.received, 8u);
  EXPECT_EQ(of(account, WalkEnd::kBegin), 1u);
  EXPECT_EQ(of(account, WalkEnd::kShortStack), 2u);
  EXPECT_EQ(of(account, WalkEnd::kKnown), 1u);
  EXPECT_EQ(of(account, WalkEnd::kFrames), 1u);
  EXPECT_EQ(all(account), 5u);
  const profile::Accounting total = pipeline.total();
  EXPECT_EQ(of(total, WalkEnd::kNonsense), 1u) << "of the child";
  EXPECT_EQ(all(total), 6u);
}

TEST_F(StackWalksTest, OfLateSamplesAreNotCounted) {
  start(true);
  sample(42, ms(5), WalkEnd::kBegin);
  read(ms(20));
  sample(42, ms(6), WalkEnd::kNoRule);
  read(ms(30));
  const profile::Accounting& account = sink.accounting.at(kProcess);
  EXPECT_EQ(account.late, 1u);
  EXPECT_EQ(of(account, WalkEnd::kBegin), 1u);
  EXPECT_EQ(all(account), 1u) << "all that are counted count here as samples, too";
}

// The twin: without the word nothing is known of a stack.
TEST_F(StackWalksTest, OfSamplesWithoutAStackAreNone) {
  start(false);
  sample(42, ms(2), WalkEnd::kNoRule);
  sample(42, ms(3), WalkEnd::kBegin);
  read(ms(20));
  EXPECT_EQ(sink.samples.size(), 2u);
  EXPECT_EQ(all(sink.accounting.at(kProcess)), 0u);
}

}  // namespace
}  // namespace tailor::pipeline
