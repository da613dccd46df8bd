#include "proto/traffic/roofline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tailor::traffic {
namespace {

constexpr Machine kMachine{.read_bytes = 10e9,
                           .written_bytes = 5e9,
                           .moved_bytes = 12e9,
                           .random_read_bytes = 1e9,
                           .random_written_bytes = 0.5e9,
                           .accesses = 2e9,
                           .cycles = 3e9};

TEST(Roofline, ATimeIsAnAmountDividedByARate) {
  // The thesis prints 7.24 to 7.26 upside down: there, twice the bytes would take half the time.
  const Bounds once = bounds_of(Needs{.read_bytes = 10e9}, kMachine);
  const Bounds twice = bounds_of(Needs{.read_bytes = 20e9}, kMachine);
  EXPECT_DOUBLE_EQ(once.seconds, 1);
  EXPECT_DOUBLE_EQ(twice.seconds, 2);
  EXPECT_EQ(once.limit, Limit::kRead);
  EXPECT_FALSE(once.is_partial);
}

TEST(Roofline, TheLongestTimeIsTheBound) {
  const Needs needs{
      .read_bytes = 10e9, .written_bytes = 2.5e9, .random_read_bytes = 0.5e9, .accesses = 1e9, .cycles = 6e9};
  const Bounds bounds = bounds_of(needs, kMachine);
  EXPECT_DOUBLE_EQ(bounds.bandwidth, 13e9 / 12e9) << "read and written together";
  EXPECT_DOUBLE_EQ(bounds.access_rate, 0.5);
  EXPECT_DOUBLE_EQ(bounds.compute, 2);
  EXPECT_DOUBLE_EQ(bounds.seconds, 2);
  EXPECT_EQ(bounds.limit, Limit::kCompute);
}

TEST(Roofline, EachNeedHasItsLimit) {
  EXPECT_EQ(bounds_of(Needs{.written_bytes = 1}, kMachine).limit, Limit::kWrite);
  EXPECT_EQ(bounds_of(Needs{.random_read_bytes = 1}, kMachine).limit, Limit::kRandomRead);
  EXPECT_EQ(bounds_of(Needs{.random_written_bytes = 1}, kMachine).limit, Limit::kRandomWrite);
  EXPECT_EQ(bounds_of(Needs{.read_bytes = 8, .written_bytes = 4}, kMachine).limit, Limit::kMove);
  EXPECT_EQ(bounds_of(Needs{.accesses = 1}, kMachine).limit, Limit::kAccess);
  EXPECT_EQ(bounds_of(Needs{.cycles = 1}, kMachine).limit, Limit::kCompute);
  EXPECT_EQ(bounds_of(Needs{}, kMachine).limit, Limit::kNothing);
}

TEST(Roofline, WhatIsNotKnownIsSaidAndLimitsNothing) {
  const Machine reads_alone{.read_bytes = 1e9, .moved_bytes = 1e9};
  const Bounds bounds = bounds_of(Needs{.read_bytes = 1e9, .cycles = 1e12}, reads_alone);
  EXPECT_DOUBLE_EQ(bounds.seconds, 1);
  EXPECT_TRUE(bounds.is_partial);
  const Bounds nothing = bounds_of(Needs{.read_bytes = 1e9}, Machine{});
  EXPECT_EQ(nothing.seconds, 0);
  EXPECT_EQ(nothing.limit, Limit::kNothing);
  EXPECT_TRUE(nothing.is_partial);
  for (const double bad : {std::nan(""), -1.0, static_cast<double>(INFINITY)}) {
    const Bounds of_bad_need = bounds_of(Needs{.read_bytes = 1e9, .cycles = bad}, kMachine);
    EXPECT_TRUE(of_bad_need.is_partial) << bad;
    EXPECT_DOUBLE_EQ(of_bad_need.seconds, 0.1) << bad;
    Machine machine = kMachine;
    machine.cycles = bad;
    const Bounds on_bad_machine = bounds_of(Needs{.read_bytes = 1e9, .cycles = 1}, machine);
    EXPECT_TRUE(on_bad_machine.is_partial) << bad;
    EXPECT_DOUBLE_EQ(on_bad_machine.seconds, 0.1) << bad;
  }
}

TEST(Roofline, PhasesWaitEachForItsOwnLimit) {
  const std::vector<Needs> phases = {{.read_bytes = 10e9, .cycles = 1.5e9},
                                     {.read_bytes = 1e9, .cycles = 9e9}};
  const Bounds bounds = bounds_of(phases, kMachine);
  EXPECT_DOUBLE_EQ(bounds.seconds, 4);
  EXPECT_EQ(bounds.limit, Limit::kCompute);
  // The average of both phases would hide that the first one waits for memory.
  const Bounds together = bounds_of(Needs{.read_bytes = 11e9, .cycles = 10.5e9}, kMachine);
  EXPECT_LT(together.seconds, bounds.seconds);
  EXPECT_EQ(bounds_of(std::vector<Needs>{}, kMachine).seconds, 0);
}

TEST(Roofline, EachLimitHasAName) {
  for (const Limit limit : {Limit::kNothing, Limit::kRead, Limit::kWrite, Limit::kMove, Limit::kRandomRead,
                            Limit::kRandomWrite, Limit::kAccess, Limit::kCompute})
    EXPECT_NE(name_of(limit), std::string());
}

}  // namespace
}  // namespace tailor::traffic
