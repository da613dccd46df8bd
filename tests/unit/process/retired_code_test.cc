#include "daemon/process/retired_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace tailor::process {
namespace {

std::unique_ptr<CodeState> object(CodeId id, std::uint64_t base, std::uint64_t size, TimeNs loaded) {
  auto code = std::make_unique<CodeState>();
  code->id = id;
  code->base = base;
  code->end = base + size;
  code->loaded = loaded;
  return code;
}

std::set<CodeId> at_place(const RetiredCode& codes, std::uint64_t begin, std::uint64_t end) {
  std::set<CodeId> ids;
  codes.overlapping(begin, end,
                    [&](const RetiredCode::Found& each) { return ids.insert(each.code->id).second; });
  return ids;
}

// Objects of one byte to some thousand, at each place many, against a list.
TEST(RetiredCode, FindsAllAtAPlace) {
  struct Told {
    CodeId id;
    std::uint64_t base, end;
    TimeNs ended;
  };
  std::minstd_rand random(3);
  RetiredCode codes;
  std::vector<Told> model;
  for (CodeId id = 1; id <= 3000; ++id) {
    const std::uint64_t base = random() % 5000, size = 1 + (random() % 4096 >> random() % 12);
    const auto ended = static_cast<TimeNs>(random() % 100);
    codes.add(object(id, base, size, 0), ended);
    model.push_back({id, base, base + size, ended});
    if (random() % 3 == 0) {
      const auto first = std::ranges::min_element(model, {}, &Told::ended);
      EXPECT_EQ(codes.first_end(), first->ended);
      EXPECT_EQ(codes.take_first()->id, first->id) << "of equal ends the one that was added first";
      model.erase(first);
    }
    const std::uint64_t begin = random() % 6000, end = begin + 1 + random() % 300;
    std::set<CodeId> expected;
    for (const Told& each : model)
      if (each.base < end && each.end > begin) expected.insert(each.id);
    ASSERT_EQ(at_place(codes, begin, end), expected) << id;
  }
}

TEST(RetiredCode, KnowsWhatWasThereAtATime) {
  RetiredCode codes;
  EXPECT_EQ(codes.at(105, 0), nullptr);
  codes.add(object(1, 100, 10, 10), 20);
  codes.add(object(2, 100, 10, 20), 30);
  codes.add(object(3, 0, UINT64_MAX, 40), 50);
  const auto id_at = [&](std::uint64_t address, TimeNs time) {
    const CodeState* code = codes.at(address, time);
    return code == nullptr ? 0 : code->id;
  };
  EXPECT_EQ(id_at(105, 9), 0u);
  EXPECT_EQ(id_at(105, 10), 1u);
  EXPECT_EQ(id_at(105, 20), 2u);
  EXPECT_EQ(id_at(105, 30), 0u);
  EXPECT_EQ(id_at(110, 25), 0u);
  EXPECT_EQ(id_at(UINT64_MAX - 1, 45), 3u);
  EXPECT_EQ(id_at(105, 50), 0u);
}

TEST(RetiredCode, AnEndMayMove) {
  RetiredCode codes;
  codes.add(object(1, 100, 10, 10), 100);
  codes.add(object(2, 200, 10, 10), 50);
  codes.overlapping(100, 110, [&](const RetiredCode::Found& each) {
    EXPECT_EQ(each.ended, 100);
    return true;
  });
  std::vector<RetiredCode::Found> found;
  codes.overlapping(0, 1000, [&](const RetiredCode::Found& each) {
    if (each.code->id == 1) found.push_back(each);
    return true;
  });
  ASSERT_EQ(found.size(), 1u);
  codes.move_end(found[0], 20);
  EXPECT_EQ(codes.last_end(), 50);
  EXPECT_EQ(codes.at(105, 30), nullptr);
  EXPECT_EQ(codes.take_first()->id, 1u);
  EXPECT_EQ(codes.take_first()->id, 2u);
  EXPECT_EQ(codes.last_end(), kTimeMin);
}

}  // namespace
}  // namespace tailor::process
