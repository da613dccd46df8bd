// Every refusal names who refuses and what to do.
#include "daemon/capture/host/denial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Case {
  const char* name;
  int code;
  const char* paranoid;
  const char* status;
  bool exclude_kernel;
  pid_t pid;
  std::vector<std::string> words;
};

class Denial : public testing::TestWithParam<Case> {};

TEST_P(Denial, NamesBlockerAndRemedy) {
  const Case& c = GetParam();
  test::FakeOs os;
  os.proc_files().write("sys/kernel/perf_event_paranoid", c.paranoid);
  os.proc_files().write("self/status", std::string("Name:\tx\n") + c.status);
  os.proc_files().write("77/status", "Name:\ty\nUid:\t4242\t4242\t4242\t4242\n");
  os.proc_files().write("78/status", "Name:\ty\nUid:\t" + std::to_string(::geteuid()) + "\t0\t0\t0\n");
  perf_event_attr attr{};
  attr.exclude_kernel = c.exclude_kernel;
  Error error = explain_open(os, Error{"perf_event_open", c.code}, attr, c.pid);
  EXPECT_EQ(error.code, c.code);
  for (const std::string& word : c.words) EXPECT_THAT(error.message, HasSubstr(word));
}

constexpr const char* kNoCaps = "CapEff:\t0000000000000000\nSeccomp:\t0\n";
constexpr const char* kFiltered = "CapEff:\t000001ffffffffff\nSeccomp:\t2\n";
constexpr const char* kPerfmon = "CapEff:\t0000004000000000\nSeccomp:\t0\n";

INSTANTIATE_TEST_SUITE_P(
    All, Denial,
    testing::Values(
        Case{"kernel_mode",
             EACCES,
             "2\n",
             kNoCaps,
             false,
             78,
             {"is 2", "kernel.perf_event_paranoid=1", "CAP_PERFMON"}},
        Case{"debian_default",
             EACCES,
             "3\n",
             kNoCaps,
             true,
             78,
             {"is 3", "perf_event_paranoid=2", "CAP_SYS_ADMIN"}},
        Case{"debian_default_with_perfmon", EACCES, "3\n", kPerfmon, true, 78, {"is 3", "CAP_SYS_ADMIN"}},
        Case{"cpu_wide", EACCES, "1\n", kNoCaps, true, -1, {"whole CPU", "perf_event_paranoid=0"}},
        Case{"seccomp", EPERM, "2\n", kFiltered, false, 78, {"seccomp", "container"}},
        Case{"other_user", EACCES, "1\n", kNoCaps, true, 77, {"uid 4242", "CAP_SYS_PTRACE"}},
        Case{"no_descriptors", EMFILE, "1\n", kNoCaps, true, 78, {"file descriptors", "LimitNOFILE"}},
        Case{"no_pmu", ENOENT, "1\n", kNoCaps, true, 78, {"virtual machine", "cpu-clock"}},
        Case{"not_precise", EOPNOTSUPP, "1\n", kNoCaps, true, 78, {"precisely"}},
        Case{"counters_taken", ENOSPC, "1\n", kNoCaps, true, 78, {"stop other profilers"}},
        Case{"no_syscall", ENOSYS, "1\n", kNoCaps, true, 78, {"seccomp"}}),
    [](const auto& each) { return each.param.name; });

TEST(DenialOfMemory, NamesTheQuota) {
  test::FakeOs os;
  Error error = explain_map(os, Error{"mmap", EPERM}, 1 << 20);
  EXPECT_THAT(error.message, AllOf(HasSubstr("1024 KiB"), HasSubstr("perf_event_mlock_kb (516 KiB"),
                                   HasSubstr("RLIMIT_MEMLOCK"), HasSubstr("CAP_IPC_LOCK")));
}

}  // namespace
}  // namespace tailor::capture
