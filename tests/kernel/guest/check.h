// What the guest's checks share: results as lines the host reads, and the module as a file.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace tailor::guest {

inline int failures = 0;

// One line per check: "ok NAME ..." or "not ok NAME ...". The host fails the run on any "not ok".
[[gnu::format(printf, 3, 4)]] inline bool check(bool ok, const char* name, const char* format, ...) {
  if (!ok) ++failures;
  std::printf("%s %s: ", ok ? "ok" : "not ok", name);
  va_list args;
  va_start(args, format);
  std::vprintf(format, args);
  va_end(args);
  std::printf("\n");
  std::fflush(stdout);
  return ok;
}

// 0 or a positive errno.
int load_module(const char* parameters);
int unload_module();

// The first line of a file, "" if there is none.
std::string first_line(const std::string& path);
bool write_line(const std::string& path, const std::string& text);

// The suites. Each returns nothing; what it found lies in `failures`.
struct AccuracyPlan {
  double seconds = 1;
  bool expect_valid = true;
  bool expect_rate_change = false;
};
void check_accuracy(const AccuracyPlan& plan);
void check_calls();
void check_attributes();
void check_removal();
void check_churn(int cycles);
void check_torn_reads(unsigned long reads);
void check_clocksource_switch();
void check_model();

}  // namespace tailor::guest
