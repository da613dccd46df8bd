#include "daemon/process/code_by_address.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tailor::process {
namespace {

constexpr std::uint64_t kPlaces = 200, kSize = 16;

// With blocks of four, against a map of the same objects by their ends.
TEST(CodeByAddress, IsAMapByAddress) {
  std::minstd_rand random(7);
  CodeByAddress codes(4);
  std::vector<CodeState> all(kPlaces);
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    all[i].base = 1000 + i * kSize;
    all[i].end = all[i].base + 1 + random() % kSize;
  }
  std::map<std::uint64_t, const CodeState*> model;
  for (int step = 0; step < 20000; ++step) {
    // Mostly full for a while, then mostly empty.
    CodeState& code = all[random() % kPlaces];
    const bool fills = step / 1000 % 2 == 0;
    if (model.contains(code.end)) {
      if (!fills || random() % 8 == 0) {
        codes.remove(code);
        model.erase(code.end);
      }
    } else if (fills || random() % 8 == 0) {
      codes.add(code);
      model.emplace(code.end, &code);
    }
    const std::uint64_t address = 990 + random() % (kPlaces * kSize + 20);
    const auto first = model.upper_bound(address);
    ASSERT_EQ(codes.first_ending_after(address), first == model.end() ? nullptr : first->second) << step;
    const std::uint64_t end = address + random() % 100;
    std::vector<const CodeState*> seen, expected;
    codes.overlapping(address, end, [&](const CodeState& each) {
      seen.push_back(&each);
      return seen.size() < 3;
    });
    for (auto each = first; each != model.end() && each->second->base < end && expected.size() < 3; ++each)
      expected.push_back(each->second);
    ASSERT_EQ(seen, expected) << step;
  }
}

TEST(CodeByAddress, HasNothingAtFirstAndAtLast) {
  CodeByAddress codes;
  EXPECT_EQ(codes.first_ending_after(0), nullptr);
  CodeState code;
  code.base = 10;
  code.end = 20;
  codes.add(code);
  EXPECT_EQ(codes.first_ending_after(19), &code);
  EXPECT_EQ(codes.first_ending_after(20), nullptr);
  codes.remove(code);
  EXPECT_EQ(codes.first_ending_after(0), nullptr);
}

}  // namespace
}  // namespace tailor::process
