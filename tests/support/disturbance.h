// What this host took from a test while it measured: a figure that a busy host can spoil is judged only where
// it did not. See disturbance.py, which has the same bounds.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

namespace tailor::test {

class Disturbance {
 public:
  // Watches from now on. Children count as the test's own once it has waited for them.
  Disturbance() : begin_(now()) {}

  // "" or what was taken since then, if it is enough to spoil a figure.
  std::string taken() const {
    const Times end = now();
    const double seconds = end.clock - begin_.clock;
    const double whole = std::max(seconds, 1e-3) * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
    const double steal = (end.steal - begin_.steal) / whole;
    const double foreign = std::max(0.0, (end.busy - begin_.busy) - (end.own - begin_.own)) / whole;
    const double least = kShort / std::max(seconds, kShort);
    if (steal <= std::max(kMostSteal, least) && foreign <= std::max(kMostForeign, least)) return {};
    return fmt::format(
        "in {:.1f} s the host stole {:.1f}% of the CPUs' time, others used {:.1f}%, children were put off a "
        "CPU "
        "{} times",
        seconds, 100 * steal, 100 * foreign, end.switches - begin_.switches);
  }

 private:
  static constexpr double kMostSteal = 0.01, kMostForeign = 0.05;  // shares of the time
  static constexpr double kShort = 0.03;  // s; less than that is the coarseness of the kernel's own counts

  struct Times {
    double clock = 0, busy = 0, steal = 0, own = 0;  // s
    long switches = 0;
  };
  static Times now() {
    Times times;
    times.clock = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    std::ifstream file("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, softirq = 0;
    file >> cpu >> user >> nice >> system >> idle >> io >> irq >> softirq >> times.steal;
    const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
    times.busy = (user + nice + system + irq + softirq) / tick;
    times.steal /= tick;
    for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage used{};
      ::getrusage(who, &used);
      for (const timeval& time : {used.ru_utime, used.ru_stime})
        times.own += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
      times.switches += used.ru_nivcsw;
    }
    return times;
  }
  Times begin_;
};

// Set by a failure that no host excuses: the recorder refused what the host allows, or no_excuse().
inline bool& failed_for_good() {
  static bool failed = false;
  return failed;
}

// Beside an expectation inside undisturbed() that is of no figure: a busy host cannot make it wrong.
inline void no_excuse(bool held) {
  if (!held) failed_for_good() = true;
}

// attempt(), whose expectations are of figures that a busy host can spoil. Where one fails while the host
// disturbed it, it is made again; after some tries the test skips and says what the host took. Failures of
// other threads than this one count at once. Nothing of the test may come after it.
template <typename Watch = Disturbance, typename Attempt>
void undisturbed(Attempt attempt, int tries = 4) {
  failed_for_good() = false;
  for (int left = tries - 1;; --left) {
    testing::TestPartResultArray results;
    const Watch disturbance;
    {
      testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      attempt();
    }
    bool failed = false;
    for (int i = 0; i < results.size(); ++i) failed |= results.GetTestPartResult(i).failed();
    const std::string taken = failed && !failed_for_good() ? disturbance.taken() : "";
    if (!taken.empty() && left > 0) {
      std::printf("this try does not count: %s\n", taken.c_str());
      continue;
    }
    for (int i = 0; i < results.size(); ++i) {
      const testing::TestPartResult& each = results.GetTestPartResult(i);
      if (!taken.empty()) {
        std::printf("%s:%d: %s\n", each.file_name() != nullptr ? each.file_name() : "", each.line_number(),
                    each.message());
        continue;
      }
      testing::internal::AssertHelper(each.type(), each.file_name(), each.line_number(), each.message()) =
          testing::Message();
    }
    if (!taken.empty())
      GTEST_SKIP() << "disturbed in each of " << tries << " tries, in the last one: " << taken;
    return;
  }
}

}  // namespace tailor::test
