#include "proto/traffic/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tailor::traffic {
namespace {

using ::testing::HasSubstr;

constexpr Cache kCache{.lines = 100};

Pattern fine_pattern() {
  return {.region = {.id = 1, .items = 100, .item_bytes = 8}};
}

// What check() says of the second pattern of the second phase.
std::string fault(const Pattern& pattern) {
  const std::vector<Phase> phases = {{.patterns = {fine_pattern()}}, {.patterns = {fine_pattern(), pattern}}};
  const Status status = check(kCache, phases);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("pattern 2 of phase 2"));
  return status.error().message;
}

TEST(Patterns, FineOnesPass) {
  EXPECT_EQ(fault(fine_pattern()), "");
  EXPECT_TRUE(check(kCache, {}).ok());
  const std::vector<Phase> idle(3);
  EXPECT_TRUE(check(kCache, idle).ok());
}

TEST(Patterns, WrongOnesAreNamed) {
  Pattern pattern = fine_pattern();
  pattern.region.item_bytes = 0;
  EXPECT_THAT(fault(pattern), HasSubstr("1 to 4096"));
  pattern.region.item_bytes = kMostItemBytes + 1;
  EXPECT_THAT(fault(pattern), HasSubstr("1 to 4096"));
  pattern = fine_pattern();
  pattern.region.items = UINT64_MAX;
  EXPECT_THAT(fault(pattern), HasSubstr("has more than"));
  pattern = fine_pattern();
  pattern.used_bytes = 9;
  EXPECT_THAT(fault(pattern), HasSubstr("uses 9 bytes"));
  pattern = fine_pattern();
  pattern.reads = false;
  EXPECT_THAT(fault(pattern), HasSubstr("neither reads nor writes"));
  pattern = fine_pattern();
  pattern.times = 0;
  EXPECT_THAT(fault(pattern), HasSubstr("0 times"));
  pattern.times = UINT64_MAX;
  EXPECT_THAT(fault(pattern), HasSubstr("times"));
  pattern.times = 2;
  pattern.kind = PatternKind::kRandomAccess;
  EXPECT_THAT(fault(pattern), HasSubstr("can be repeated"));
  pattern = fine_pattern();
  for (const double share : {-0.1, 1.1, std::nan(""), static_cast<double>(INFINITY)}) {
    pattern.share = share;
    EXPECT_THAT(fault(pattern), HasSubstr("between 0 and 1"));
  }
  pattern = fine_pattern();
  pattern.kind = PatternKind::kRandomAccess;
  pattern.accesses = 5;
  pattern.region.items = 0;
  EXPECT_THAT(fault(pattern), HasSubstr("without items"));
  pattern.accesses = UINT64_MAX;
  EXPECT_THAT(fault(pattern), HasSubstr("accesses"));
  pattern = fine_pattern();
  pattern.cursors = 0;
  EXPECT_THAT(fault(pattern), HasSubstr("no cursor"));
  pattern = fine_pattern();
  pattern.region.part = 3;
  pattern.region.parts = 2;
  EXPECT_THAT(fault(pattern), HasSubstr("part 3 of 2"));
}

TEST(Patterns, APartedRegionIsPartedInOneWay) {
  Pattern half = fine_pattern(), third = fine_pattern();
  half.region.part = third.region.part = 1;
  half.region.parts = 2;
  third.region.parts = 3;
  const std::vector<Phase> phases = {{.patterns = {half}}, {.patterns = {third}}};
  const Status status = check(kCache, phases);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("another number elsewhere"));
}

TEST(Patterns, WrongCachesAreNamed) {
  for (const std::uint32_t bytes : {0U, 8U, 48U, 8192U}) {
    const Status status = check({.line_bytes = bytes, .lines = 10}, {});
    ASSERT_FALSE(status.ok()) << bytes;
    EXPECT_THAT(status.error().message, HasSubstr("power of two"));
  }
  EXPECT_FALSE(check({.lines = 0}, {}).ok());
  EXPECT_FALSE(check({.lines = kMostLines + 1}, {}).ok());
  const std::vector<Phase> wide = {{.patterns = std::vector<Pattern>(3, fine_pattern())}};
  EXPECT_FALSE(check({.lines = 2}, wide).ok()) << "a line for each pattern";
  EXPECT_TRUE(check({.lines = 3}, wide).ok());
}

TEST(Patterns, TheirNumberIsBounded) {
  const std::vector<Phase> wide = {
      {.patterns = std::vector<Pattern>(kMostPatternsOfPhase + 1, fine_pattern())}};
  EXPECT_FALSE(check(kCache, wide).ok());
  const Phase one{.patterns = {fine_pattern()}};
  const std::vector<Phase> most(kMostPatterns, one);
  EXPECT_TRUE(check(kCache, most).ok());
  const std::vector<Phase> more(kMostPatterns + 1, one);
  EXPECT_FALSE(check(kCache, more).ok());
  const std::vector<Phase> idle(kMostPatterns + 1);
  EXPECT_FALSE(check(kCache, idle).ok());
}

TEST(Patterns, PiecesOfWholeRegionsAreBounded) {
  // What a phase leaves of a whole region is divided when a later phase uses a part of it.
  Pattern part = fine_pattern();
  part.region.part = 1;
  part.region.parts = kMostPatterns;
  const std::uint64_t wholes = kMostPieces / kMostPatterns;
  std::vector<Phase> phases(wholes, Phase{.patterns = {fine_pattern()}});
  phases.push_back({.patterns = {part}});
  EXPECT_TRUE(check(kCache, phases).ok());
  phases.push_back({.patterns = {fine_pattern()}});
  const Status status = check(kCache, phases);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("pieces"));
}

TEST(Blocks, UsePartsOfTheirRegions) {
  Pattern random = fine_pattern();
  random.kind = PatternKind::kRandomAccess;
  random.accesses = 10;
  random.region.id = 2;
  const std::vector<Phase> phases = {{.patterns = {fine_pattern(), random}, .discarded = {1, 2}}};
  const std::vector<std::uint32_t> regions = {1};
  const Result<std::vector<Phase>> found = blocked(phases, 3, regions);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Phase& phase = found.value()[i];
    EXPECT_EQ(phase.patterns[0].region.part, i + 1);
    EXPECT_EQ(phase.patterns[0].region.parts, 3U);
    EXPECT_EQ(phase.patterns[0].region.items, 34U) << "rounded up";
    EXPECT_EQ(phase.patterns[1].region.part, 0U);
    EXPECT_EQ(phase.patterns[1].region.items, 100U);
    EXPECT_EQ(phase.patterns[1].accesses, 10U) << "what is not blocked is repeated";
    EXPECT_EQ(phase.discarded.size(), i < 2 ? 0U : 2U) << "the next block needs other parts";
  }
}

TEST(Blocks, ThatAreNotPossibleAreRefused) {
  const std::vector<Phase> phases = {{.patterns = {fine_pattern()}}};
  const std::vector<std::uint32_t> regions = {1};
  EXPECT_FALSE(blocked(phases, 0, regions).ok());
  EXPECT_FALSE(blocked(phases, static_cast<std::uint32_t>(kMostPatterns) + 1, regions).ok());
  EXPECT_FALSE(blocked(phases, UINT32_MAX, regions).ok());
  const Result<std::vector<Phase>> once = blocked(phases, 2, regions);
  ASSERT_TRUE(once.ok());
  const Result<std::vector<Phase>> twice = blocked(once.value(), 2, regions);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("a part already"));
}

}  // namespace
}  // namespace tailor::traffic
