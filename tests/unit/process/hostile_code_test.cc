#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "daemon/process/code_state.h"
#include "tests/support/engine_messages.h"

namespace tailor::process {
namespace {

using test::small_code;
using test::small_plan;

TEST(CheckCode, ReadsTheRows) {
  PlanState plan = check_plan(small_plan(1), {}).value();
  Result<CodeState> code = check_code(small_code(5, 1, 0x1000), &plan, {});
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code->level, 2u);
  EXPECT_EQ(code->row_at(0x1000)->flag, v1::ROW_PROLOGUE);
  EXPECT_EQ(code->row_at(0x100f)->link, 0u);
  EXPECT_EQ(code->row_at(0x1010)->link, 1u << 1);
  EXPECT_EQ(code->row_at(0x101f)->flag, v1::ROW_INFERRED);
  EXPECT_EQ(code->row_at(0x103f)->link, 6u << 1);
}

TEST(CheckCode, BytesBeforeTheFirstRowAreUnmapped) {
  PlanState plan = check_plan(small_plan(1), {}).value();
  CodeState code = check_code(small_code(5, 1, 0x1000, 16, {{8, 2}}), &plan, {}).value();
  EXPECT_EQ(code.row_at(0x1007), nullptr);
  EXPECT_EQ(code.row_at(0x1008)->link, 2u);
}

// However rows are spread, the index finds what a walk over all of them finds.
TEST(CheckCode, EveryAddressHasTheRowOfAWalk) {
  std::mt19937 random(9);
  PlanState plan = check_plan(small_plan(1), {}).value();
  for (std::uint32_t spread : {1u, 3u, 16u, 60u, 200u, 400u, 20'000u}) {
    std::vector<test::RowWord> rows;
    auto offset = static_cast<std::uint32_t>(random() % spread);
    for (int i = 0; i < 100; ++i, offset += static_cast<std::uint32_t>(1 + random() % spread)) {
      rows.push_back({offset, static_cast<std::uint32_t>((random() % 6 + 1) << 1)});
    }
    const auto size = static_cast<std::uint32_t>(offset + 1 + random() % 1000);
    CodeState code = check_code(small_code(5, 1, 0x1000, size, rows), &plan, {}).value();
    std::uint32_t expected = 0;
    std::size_t next = 0;
    for (std::uint32_t at = 0; at < size; ++at) {
      if (next < rows.size() && rows[next].offset == at) expected = rows[next++].link;
      const CodeRow* row = code.row_at(0x1000 + at);
      ASSERT_EQ(row == nullptr ? 0 : row->link, expected) << spread << ": " << at;
    }
  }
}

TEST(CheckCode, ARangeNeedsNoBytes) {
  PlanState plan = check_plan(small_plan(1), {}).value();
  v1::CodeObject code = small_code(5, 1, 0x1000);
  code.clear_code();
  code.set_size(100);
  Result<CodeState> checked = check_code(code, &plan, {});
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  EXPECT_EQ(checked->end, 0x1064u);
}

struct Harm {
  std::string name;
  std::function<void(v1::CodeObject&)> change;
};

class HostileCode : public testing::TestWithParam<Harm> {};

TEST_P(HostileCode, IsRefusedWithAReason) {
  PlanState plan = check_plan(small_plan(1), {}).value();
  v1::CodeObject code = small_code(5, 1, 0x1000);
  GetParam().change(code);
  Limits limits;
  limits.code_bytes = 1 << 20;
  Result<CodeState> checked = check_code(code, &plan, limits);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileCode,
    testing::Values(
        Harm{"NoId", [](v1::CodeObject& c) { c.set_id(0); }},
        Harm{"Empty", [](v1::CodeObject& c) { c.clear_code(); }},
        Harm{"TooLarge", [](v1::CodeObject& c) { c.set_code(std::string((1 << 20) + 1, 'x')); }},
        Harm{"ClaimsTooMuch",
             [](v1::CodeObject& c) {
               c.clear_code();
               c.set_size(UINT64_MAX);
             }},
        Harm{"BytesOfAnotherSize", [](v1::CodeObject& c) { c.set_size(65); }},
        Harm{"AtZero", [](v1::CodeObject& c) { c.set_base(0); }},
        Harm{"InTheKernel", [](v1::CodeObject& c) { c.set_base(0xffffffff81000000); }},
        Harm{"WrapsAround", [](v1::CodeObject& c) { c.set_base(UINT64_MAX - 8); }},
        Harm{"ColumnsDiffer", [](v1::CodeObject& c) { c.mutable_rows()->mutable_flags()->pop_back(); }},
        Harm{"RowsDoNotRise", [](v1::CodeObject& c) { c.mutable_rows()->set_offset_delta(2, 0); }},
        Harm{"RowBeyondTheCode", [](v1::CodeObject& c) { c.mutable_rows()->set_offset_delta(6, 4000); }},
        Harm{"OffsetWraps", [](v1::CodeObject& c) { c.mutable_rows()->set_offset_delta(6, UINT32_MAX); }},
        Harm{"UnknownFlag", [](v1::CodeObject& c) { c.mutable_rows()->mutable_flags()->back() = 5; }},
        Harm{"OwnedPrologue",
             [](v1::CodeObject& c) { c.mutable_rows()->mutable_flags()->back() = v1::ROW_PROLOGUE; }},
        Harm{"ExactNothing",
             [](v1::CodeObject& c) { c.mutable_rows()->mutable_flags()->front() = v1::ROW_EXACT; }},
        Harm{"LinkTooFar", [](v1::CodeObject& c) { c.mutable_rows()->set_link_delta(6, 100); }},
        Harm{"LinkWraps", [](v1::CodeObject& c) { c.mutable_rows()->set_link_delta(6, INT32_MIN); }},
        Harm{"NoSuchSet", [](v1::CodeObject& c) { c.mutable_rows()->set_link_delta(6, 1); }},
        Harm{"SetTooFar", [](v1::CodeObject& c) { c.mutable_rows()->add_link_sets()->add_ids(7); }}),
    [](const auto& harm) { return harm.param.name; });

TEST(CheckCode, WithoutAPlanThereAreNoRows) {
  EXPECT_TRUE(check_code(small_code(5, 0, 0x1000, 16, {}), nullptr, {}).ok());
  EXPECT_FALSE(check_code(small_code(5, 0, 0x1000, 16, {{0, 2}}), nullptr, {}).ok());
}

}  // namespace
}  // namespace tailor::process
