#include "daemon/bpf/loaded_programs.h"

#include <gtest/gtest.h>

#include "tests/support/fake_os.h"

namespace tailor::bpf {
namespace {

constexpr ProgramFacts::Tag kWhole = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
constexpr ProgramFacts::Tag kPart = {0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};

std::vector<std::string> names_of(const ProgramFacts& facts) {
  std::vector<std::string> names;
  for (const auto& each : functions_of(facts)) names.push_back(each.name);
  return names;
}

TEST(LoadedPrograms, AProgramIsNamedByItsTagAndItsName) {
  const auto functions = functions_of({"filter", {0xffffffffc0000010}, {5606}, {kWhole}, {}});
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].address, 0xffffffffc0000010u);
  EXPECT_EQ(functions[0].size, 5606u) << "also beyond its page";
  EXPECT_EQ(functions[0].name, "bpf_prog_0123456789abcdef_filter");
  EXPECT_EQ(names_of({"", {16}, {8}, {kWhole}, {}}), std::vector<std::string>{"bpf_prog_0123456789abcdef"});
}

TEST(LoadedPrograms, ItsFunctionsAreNamedByItsTypesOrAllAlike) {
  const ProgramFacts without{"two", {16, 64}, {8, 9}, {kWhole, kPart}, {}};
  EXPECT_EQ(names_of(without),
            (std::vector<std::string>{"bpf_prog_0123456789abcdef_two", "bpf_prog_fedcba9876543210_F"}));
  ProgramFacts with = without;
  with.functions = {"the_whole_long_name_of_two", "helper"};
  EXPECT_EQ(names_of(with), (std::vector<std::string>{"bpf_prog_0123456789abcdef_the_whole_long_name_of_two",
                                                      "bpf_prog_fedcba9876543210_helper"}));
}

TEST(LoadedPrograms, FactsThatDoNotFitNameNothing) {
  EXPECT_TRUE(functions_of({}).empty());
  EXPECT_TRUE(functions_of({"one", {0}, {8}, {kWhole}, {}}).empty()) << "the kernel hides its addresses";
  EXPECT_TRUE(functions_of({"one", {16}, {0}, {kWhole}, {}}).empty()) << "it is interpreted";
  EXPECT_TRUE(functions_of({"one", {16}, {}, {kWhole}, {}}).empty());
  EXPECT_TRUE(functions_of({"one", {16}, {8}, {}, {}}).empty());
}

TEST(LoadedPrograms, ThisHostIsNotAskedForAnother) {
  EXPECT_FALSE(loaded_programs(test::FakeOs()));
}

}  // namespace
}  // namespace tailor::bpf
