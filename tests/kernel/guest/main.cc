// Runs inside the guest: clock_guest SCENARIO. The scenarios are those of tests/kernel/run.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/kernel/guest/check.h"

using namespace tailor::guest;

namespace {

// Readers cover the change from the kernel's first guess of the TSC's rate to the refined one.
void early() {
  check_accuracy({.seconds = 3, .expect_rate_change = true});
}

void settled() {
  sleep(3);
  check_accuracy({.seconds = 2});
  check_calls();
  check_attributes();
  check_removal();
  check_clocksource_switch();
}

void model() {
  sleep(3);
  check_model();
}

void smp() {
  sleep(3);
  check_accuracy({.seconds = 3});
  check_torn_reads(100'000'000);
  check_churn(200);
}

void unstable() {
  check_accuracy({.seconds = 2, .expect_valid = false});
}

void torn() {
  sleep(3);
  check_torn_reads(10'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  const char* scenario = argc > 1 ? argv[1] : "";
  const char* parameters = argc > 2 ? argv[2] : "";
  if (!check(load_module(parameters) == 0, "insmod", "%s", parameters)) return 1;
  const struct {
    const char* name;
    void (*run)();
  } scenarios[] = {{"early", early}, {"settled", settled},   {"model", model},
                   {"smp", smp},     {"unstable", unstable}, {"torn", torn}};
  bool found = false;
  for (const auto& s : scenarios) {
    if (std::strcmp(s.name, scenario) != 0) continue;
    found = true;
    s.run();
  }
  check(found, "scenario", "%s", scenario);
  check(unload_module() == 0, "rmmod", "at the end");
  return failures == 0 ? 0 : 1;
}
