#include "daemon/clock/host_clock.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/clock/model.h"
#include "tests/support/fake_os.h"

namespace tailor::clock {
namespace {

TEST(HostClock, PairsAreOrdered) {
  const Pair first = read_pair(os::real(), 4);
  const Pair second = read_pair(os::real(), 4);
  EXPECT_LE(first.before, first.after);
  EXPECT_LE(first.after, second.before);
  EXPECT_LE(first.raw_ns, second.raw_ns);
}

TEST(HostClock, ReadsTheClocksOfItsOs) {
  test::FakeOs os;
  os.time = 7'000'000;
  HostClock host(os, "/nonexistent");
  const Pair seen = host.observe().pair;
  EXPECT_EQ(seen.raw_ns, 7'000'000);
  EXPECT_EQ(seen.middle(), 7'000'000u * test::FakeOs::kTicksPerNs);
}

TEST(HostClock, ReadsTheClocksource) {
  test::FakeOs os;
  const std::string file = "devices/system/clocksource/clocksource0/current_clocksource";
  HostClock host(os, "/nonexistent");
  EXPECT_FALSE(host.observe().tsc_is_clocksource);
  os.sys_files().write(file, "hpet\n");
  EXPECT_FALSE(host.observe().tsc_is_clocksource);
  os.sys_files().write(file, "tsc\n");
  EXPECT_TRUE(host.observe().tsc_is_clocksource);
}

TEST(HostClock, SaysWhyASourceDoesNotServe) {
  test::FakeOs os;
  os.fail_open = [](const perf_event_attr&, pid_t, int) { return EACCES; };
  HostClock host(os, "/nonexistent");
  const Observation seen = host.observe();
  EXPECT_FALSE(seen.module);
  EXPECT_FALSE(seen.perf);
  EXPECT_NE(host.module_denial().find("modprobe tailor_clock"), std::string::npos);
  EXPECT_FALSE(host.perf_denial().empty());
}

// A file of one page stands for the device.
class ModulePageFile : public testing::Test {
 protected:
  ModulePageFile() {
    page_.magic = TAILOR_CLOCK_MAGIC;
    page_.version = TAILOR_CLOCK_VERSION;
    page_.size = sizeof(page_);
    page_.flags = TAILOR_CLOCK_VALID | TAILOR_CLOCK_PERF;
    page_.raw = {.cycle_last = 100, .base_ns = 200, .remainder = 3, .mult = 5, .shift = 4};
    page_.uncertainty_ns = 7;
    page_.perf_tsc = 11;
    page_.perf_ns = 12;
    page_.perf_ticks = 13;
  }

  std::string write() const {
    std::string bytes(TAILOR_CLOCK_PAGE_BYTES, '\0');
    std::memcpy(bytes.data(), &page_, sizeof(page_));
    directory_.write("page", bytes);
    return (directory_.path() / "page").string();
  }

  tailor_clock_page page_{};
  test::TemporaryDirectory directory_;
};

TEST_F(ModulePageFile, IsRead) {
  const auto page = ModulePage::open(write());
  ASSERT_TRUE(page.ok());
  const auto time = page->read();
  ASSERT_TRUE(time);
  EXPECT_EQ(time->cycle_last, 100u);
  EXPECT_EQ(time->base_ns, 200);
  EXPECT_EQ(time->remainder, 3u);
  EXPECT_EQ(time->mult, 5u);
  EXPECT_EQ(time->shift, 4u);
  EXPECT_EQ(time->uncertainty_ns, 7u);
  EXPECT_EQ(time->perf_tsc, 11u);
  EXPECT_EQ(time->perf_ns, 12u);
  EXPECT_EQ(time->perf_ticks, 13u);
}

TEST_F(ModulePageFile, InvalidOrLockedGivesNothing) {
  page_.flags = TAILOR_CLOCK_PERF;
  EXPECT_FALSE(ModulePage::open(write())->read());
  page_.flags = TAILOR_CLOCK_VALID;
  page_.seq = 1;
  EXPECT_FALSE(ModulePage::open(write())->read());
}

TEST_F(ModulePageFile, WithoutThePairingPerfIsUnknown) {
  page_.flags = TAILOR_CLOCK_VALID;
  EXPECT_EQ(ModulePage::open(write())->read()->perf_tsc, 0u);
}

TEST_F(ModulePageFile, AnotherLayoutIsRefused) {
  page_.version = 99;
  EXPECT_EQ(ModulePage::open(write()).error().code, EPROTO);
  page_.version = TAILOR_CLOCK_VERSION;
  page_.magic = 0;
  EXPECT_EQ(ModulePage::open(write()).error().code, EPROTO);
}

TEST_F(ModulePageFile, LineIsThatOfTheHeader) {
  const auto line = line_of(*ModulePage::open(write())->read());
  ASSERT_TRUE(line);
  for (std::uint64_t tsc : {0ull, 100ull, 101ull, 117ull, 1'000'000ull}) {
    EXPECT_NEAR(to_ns(*line, tsc), static_cast<TimeNs>(tailor_clock_line_ns(&page_.raw, tsc)), 1);
  }
}

TEST(PerfPage, ReadsOnlyWhatThePageVouchesFor) {
  perf_event_mmap_page page{};
  page.time_mult = 5;
  page.time_shift = 6;
  page.time_zero = 7;
  EXPECT_FALSE(read_perf_page(page));
  page.cap_user_time = 1;
  EXPECT_FALSE(read_perf_page(page));
  page.cap_user_time_zero = 1;
  EXPECT_EQ(read_perf_page(page), (PerfPageTime{.mult = 5, .shift = 6, .zero = 7}));
  page.lock = 1;
  EXPECT_FALSE(read_perf_page(page));
}

}  // namespace
}  // namespace tailor::clock
