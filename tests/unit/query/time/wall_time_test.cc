#include "daemon/query/time/wall_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace tailor::query {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;

// Rules of Central Europe, written out: the test needs no zone files.
class WallTime : public testing::Test {
 protected:
  WallTime() {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
  }
  ~WallTime() override {
    ::unsetenv("TZ");
    ::tzset();
  }

  static std::uint64_t utc(const char* text) {
    const auto time = parse_rfc3339(text);
    EXPECT_TRUE(time) << text;
    return time ? *time : 0;
  }
  std::uint64_t parse(const char* text, Repeated repeated = Repeated::kFirst) const {
    const auto time = parse_time(text, now_, repeated);
    EXPECT_TRUE(time) << (time ? "" : time.error().message);
    return time ? *time : 0;
  }

  const std::uint64_t now_ = utc("2026-11-22T20:30:00Z");  // 21:30 here
};

TEST_F(WallTime, TimesWithAZoneMeanTheSameEverywhere) {
  EXPECT_EQ(utc("1970-01-01T00:00:01.5Z"), kSecond + kSecond / 2);
  EXPECT_EQ(utc("1970-01-01T01:00:01+01:00"), kSecond);
  EXPECT_EQ(utc("2026-11-22 14:00-05:30"), utc("2026-11-22T19:30:00Z"));
  EXPECT_EQ(parse("2026-07-01T14:00:00Z"), utc("2026-07-01T14:00:00Z"));
  EXPECT_EQ(parse("14:00+02:00"), utc("2026-11-22T12:00:00Z"));
  EXPECT_EQ(parse("14:00Z"), utc("2026-11-22T14:00:00Z"));
}

TEST_F(WallTime, TheDayOfATimeIsThatOfItsZone) {
  const std::uint64_t after_midnight = utc("2026-11-22T23:30:00Z");  // 00:30 of the 23rd here
  EXPECT_EQ(*parse_time("00:10", after_midnight, Repeated::kFirst), utc("2026-11-22T23:10:00Z"));
  EXPECT_EQ(*parse_time("00:10Z", after_midnight, Repeated::kFirst), utc("2026-11-22T00:10:00Z"));
  EXPECT_EQ(*parse_time("yesterday 23:50", after_midnight, Repeated::kFirst), utc("2026-11-22T22:50:00Z"));
}

TEST_F(WallTime, LocalTimes) {
  EXPECT_EQ(parse("14:00"), utc("2026-11-22T13:00:00Z"));
  EXPECT_EQ(parse("14:00:30.25"), utc("2026-11-22T13:00:30.25Z"));
  EXPECT_EQ(parse("today"), utc("2026-11-21T23:00:00Z"));
  EXPECT_EQ(parse("yesterday 14:00"), utc("2026-11-21T13:00:00Z"));
  EXPECT_EQ(parse("2026-07-01T14:00"), utc("2026-07-01T12:00:00Z"));
  EXPECT_EQ(parse("2026-07-01 14:00"), utc("2026-07-01T12:00:00Z"));
  EXPECT_EQ(parse("2026-07-01"), utc("2026-06-30T22:00:00Z"));
  EXPECT_EQ(parse("now"), now_);
  EXPECT_EQ(parse("-10m"), now_ - 600 * kSecond);
  EXPECT_EQ(parse("10m ago"), now_ - 600 * kSecond);
  EXPECT_EQ(parse("-1h30m"), now_ - 5400 * kSecond);
}

// Yesterday has 25 hours when today begins after summer time ended.
TEST_F(WallTime, YesterdayIsADayOfTheCalendarAndNot24Hours) {
  const std::uint64_t monday = utc("2026-10-26T05:00:00Z");
  EXPECT_EQ(*parse_time("yesterday 01:00", monday, Repeated::kFirst), utc("2026-10-24T23:00:00Z"));
}

TEST_F(WallTime, ATimeThatClocksLeftOutIsAnErrorThatSaysSo) {
  const auto time = parse_time("2026-03-29T02:30", now_, Repeated::kFirst);
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(time.error().message, HasSubstr("there was no 02:30 on 2026-03-29"));
  EXPECT_EQ(parse("2026-03-29T01:59"), utc("2026-03-29T00:59:00Z"));
  EXPECT_EQ(parse("2026-03-29T03:00"), utc("2026-03-29T01:00:00Z"));
}

// A range that is given in local time holds all that anybody could mean by it.
TEST_F(WallTime, OfARepeatedHourTheCallerSaysWhich) {
  EXPECT_EQ(parse("2026-10-25T02:30", Repeated::kFirst), utc("2026-10-25T00:30:00Z"));
  EXPECT_EQ(parse("2026-10-25T02:30", Repeated::kSecond), utc("2026-10-25T01:30:00Z"));
}

TEST_F(WallTime, NonsenseIsToldWithTheFormsThatAreAccepted) {
  for (const char* wrong : {"",
                            "noon",
                            "25:00",
                            "14:60",
                            "14",
                            "1:00",
                            "14:00:61",
                            "14:00 ",
                            "14:00+25:00",
                            "14:00+2",
                            "2026-02-30",
                            "2026-13-01",
                            "2026-00-10",
                            "2026-11-22T",
                            "2026-11-22Tx",
                            "1969-12-31T00:00Z",
                            "yesterday14:00",
                            "yesterday ",
                            "-10",
                            "-10y",
                            "--10m",
                            "m ago",
                            " ago",
                            "-99999w",
                            "2026-11-22T14:00.5",
                            "14:00:00."}) {
    const auto time = parse_time(wrong, now_, Repeated::kFirst);
    ASSERT_FALSE(time) << wrong;
    EXPECT_EQ(time.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(time.error().message, HasSubstr("yesterday 14:00")) << wrong;
  }
}

TEST_F(WallTime, TheLocalZoneIsNotGuessedWhereAZoneIsNeeded) {
  EXPECT_FALSE(parse_rfc3339("2026-11-22T14:00:00"));
  EXPECT_FALSE(parse_rfc3339("14:00Z"));
  EXPECT_FALSE(parse_rfc3339("2026-11-22T14:00:00Zx"));
}

TEST_F(WallTime, Durations) {
  EXPECT_EQ(*parse_duration("500ms"), 500'000'000);
  EXPECT_EQ(*parse_duration("1.5s"), 1'500'000'000);
  EXPECT_EQ(*parse_duration("2h30m"), 9000 * static_cast<std::int64_t>(kSecond));
  EXPECT_EQ(*parse_duration("1w"), 7 * 86'400 * static_cast<std::int64_t>(kSecond));
  for (const char* wrong : {"", "5", "s", "5 s", "-5s", "1e3s", "5s3", "1e999s", "9999999999999d"})
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
}

TEST_F(WallTime, IsWrittenWithItsZone) {
  EXPECT_EQ(rfc3339(utc("2026-07-01T12:00:00.0625Z")), "2026-07-01T14:00:00.062+02:00");
  EXPECT_EQ(rfc3339(utc("2026-11-22T20:30:00Z")), "2026-11-22T21:30:00.000+01:00");
  EXPECT_EQ(local_time(utc("2026-11-22T00:00:00Z"), now_), "01:00:00");
  EXPECT_EQ(local_time(utc("2026-11-21T22:59:59Z"), now_), "2026-11-21 23:59:59");
  EXPECT_EQ(local_time(0, now_), "?");
}

}  // namespace
}  // namespace tailor::query
