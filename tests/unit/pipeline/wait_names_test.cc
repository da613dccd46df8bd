#include "daemon/pipeline/wait_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tailor::pipeline {
namespace {

v1::WaitNames names_of(std::initializer_list<std::pair<std::uint32_t, const char*>> names) {
  v1::WaitNames said;
  for (const auto& [number, name] : names) {
    v1::WaitName& added = *said.add_names();
    added.set_number(number);
    added.set_name(name);
  }
  return said;
}

TEST(WaitNames, OneNameHasOneNumberWhateverItsEngineCallsIt) {
  WaitNames waits;
  const auto old = waits.take(names_of({{0x0A000001, "IO:BaseBackupRead"}, {0x09000001, "Timeout:PgSleep"}}));
  const auto same =
      waits.take(names_of({{0x09000001, "Timeout:PgSleep"}, {0x0A000001, "IO:BaseBackupRead"}}));
  EXPECT_EQ(old, same) << "processes that say the same share a table";
  const auto newer = waits.take(names_of({{0x09000002, "Timeout:PgSleep"}}));
  EXPECT_EQ(waits.number_of(old.get(), 0x09000001), 1u);
  EXPECT_EQ(waits.number_of(newer.get(), 0x09000002), 1u);
  EXPECT_EQ(waits.number_of(old.get(), 0x0A000001), 2u);
  EXPECT_EQ(waits.names(), (std::vector<std::string>{"Timeout:PgSleep", "IO:BaseBackupRead"}));
}

// Nothing is guessed: not the name that another version has for the number.
TEST(WaitNames, WhatHasNoNameIsANumber) {
  WaitNames waits;
  const auto known = waits.take(names_of({{0x09000001, "Timeout:PgSleep"}}));
  EXPECT_EQ(waits.number_of(known.get(), 0x07000005), 1u);
  EXPECT_EQ(waits.number_of(nullptr, 0x09000001), 2u);
  EXPECT_EQ(waits.names(), (std::vector<std::string>{"0x07000005", "0x09000001"}));
}

TEST(WaitNames, ThereIsRoomForSoMany) {
  WaitNames waits;
  for (std::uint32_t word = 1; word <= WaitNames::kMost; ++word)
    EXPECT_EQ(waits.number_of(nullptr, word), word);
  EXPECT_EQ(waits.number_of(nullptr, 0xFFFF), 0u);
  EXPECT_EQ(waits.number_of(nullptr, 5), 5u);
  EXPECT_EQ(waits.names().size(), WaitNames::kMost);
}

}  // namespace
}  // namespace tailor::pipeline
