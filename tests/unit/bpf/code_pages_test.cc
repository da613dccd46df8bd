#include "daemon/bpf/code_pages.h"

#include <gtest/gtest.h>

#include <set>

#include "daemon/bpf/sampler_abi.h"

namespace tailor::bpf {
namespace {

class CodePagesTest : public testing::Test {
 protected:
  void add(CodeId id, std::uint64_t begin, std::uint64_t size, bool of_plan) {
    pages.add(id, begin, size, of_plan, tell);
  }
  std::set<std::uint64_t> all() const {
    std::set<std::uint64_t> found;
    pages.for_each([&](std::uint64_t page, bool is_one) {
      EXPECT_TRUE(is_one);
      found.insert(page);
    });
    return found;
  }
  CodePages pages;
  std::set<std::uint64_t> told;
  CodePages::Tell tell = [this](std::uint64_t page, bool is_one) {
    const bool changed = is_one ? told.insert(page).second : told.erase(page) > 0;
    EXPECT_TRUE(changed) << page << " is told when it changes";
  };
};

TEST_F(CodePagesTest, HoldCodeOfPlans) {
  add(1, 0x1800, 0x1000, true);
  add(2, 0x2900, 0x10, true);
  EXPECT_EQ(told, (std::set<std::uint64_t>{1, 2}));
  EXPECT_EQ(all(), told);
  pages.remove(1, tell);
  EXPECT_EQ(told, (std::set<std::uint64_t>{2})) << "there is code in it still";
  pages.remove(2, tell);
  pages.remove(2, tell);
  EXPECT_TRUE(told.empty());
}

// A sample there may be of the shared code, and only its callers say whose it is.
TEST_F(CodePagesTest, WithSharedCodeBesideAreNone) {
  add(1, 0x1000, 0x2000, true);
  add(2, 0x2f00, 0x200, false);
  EXPECT_EQ(told, (std::set<std::uint64_t>{1}));
  add(3, 0x3200, 0x100, true);
  EXPECT_EQ(told, (std::set<std::uint64_t>{1}));
  EXPECT_EQ(all(), told);
  pages.remove(2, tell);
  EXPECT_EQ(told, (std::set<std::uint64_t>{1, 2, 3}));
}

TEST_F(CodePagesTest, CodeThatCannotBeIsLeftOut) {
  add(1, 0x1000, 0, true);
  add(2, UINT64_MAX - 0x100, 0x1000, true);
  add(3, 0x1000, std::uint64_t{TAILOR_BPF_CODE_PAGES} * 4096 + 1, true);
  add(4, 0x1000, 0x1000, true);
  add(4, 0x8000, 0x1000, true);
  EXPECT_EQ(told, (std::set<std::uint64_t>{1}));
}

}  // namespace
}  // namespace tailor::bpf
