#include "daemon/os/capabilities.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace tailor::os {
namespace {

// What is given up does not come back: in a process of its own. 0: all holds.
template <typename Work>
int in_a_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// By the effective capabilities.
bool may_read(const char* path) {
  return ::faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

bool can_bound() {
  const auto mine = permitted_capabilities();
  return mine.ok() && (*mine & capability(CAP_SETPCAP)) != 0;
}

int gives_up_all_but(Capabilities kept) {
  const auto before = permitted_capabilities();
  if (!before.ok() || !keep_capabilities(kept).ok()) return 1;
  const auto after = permitted_capabilities();
  if (!after.ok() || *after != (*before & kept)) return 2;
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 3;
  for (int number = 0; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    const bool is_bounded = ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 0;
    if (!is_bounded && (kept & capability(number)) == 0) return 4;
  }
  if (!set_effective_capabilities(*before).ok()) return 5;
  bool same = false;
  std::thread([&] {
    const auto of_another = permitted_capabilities();
    same = of_another.ok() && *of_another == *after;
  }).join();
  return same ? 0 : 6;
}

TEST(Capabilities, WhatIsNotKeptIsGoneForThisThreadAndThoseThatItStarts) {
  if (!can_bound()) GTEST_SKIP() << "it takes CAP_SETPCAP to bound capabilities";
  EXPECT_EQ(in_a_child([] { return gives_up_all_but(capability(CAP_SYS_PTRACE) | capability(CAP_KILL)); }),
            0);
  EXPECT_EQ(in_a_child([] { return gives_up_all_but(0); }), 0);
}

TEST(Capabilities, NothingIsGainedByKeepingIt) {
  if (!can_bound()) GTEST_SKIP() << "it takes CAP_SETPCAP to bound capabilities";
  EXPECT_EQ(in_a_child([] {
              if (!keep_capabilities(0).ok()) return 1;
              (void)keep_capabilities(capability(CAP_KILL));
              const auto after = permitted_capabilities();
              return after.ok() && *after == 0 ? 0 : 2;
            }),
            0);
}

TEST(Capabilities, WhatCannotBeBoundedIsToldAndTheRestIsDone) {
  if (!can_bound()) GTEST_SKIP() << "it takes CAP_SETPCAP to bound capabilities";
  EXPECT_EQ(in_a_child([] {
              if (!set_effective_capabilities(0).ok()) return 1;
              const Status told = keep_capabilities(0);
              if (told.ok() || told.error().message.find("PR_CAPBSET_DROP") == std::string::npos) return 2;
              const auto after = permitted_capabilities();
              return after.ok() && *after == 0 ? 0 : 3;
            }),
            0);
}

// In reserve, until they are taken again.
TEST(Capabilities, EffectiveOnesComeBack) {
  EXPECT_EQ(in_a_child([] {
              const auto mine = permitted_capabilities();
              if (!mine.ok() || !set_effective_capabilities(0).ok()) return 1;
              if (::geteuid() == 0 && (*mine & capability(CAP_DAC_OVERRIDE)) != 0) {
                char path[] = "/tmp/tailor-capabilities-XXXXXX";
                const int fd = ::mkstemp(path);
                const bool closed = fd >= 0 && ::fchmod(fd, 0) == 0 && !may_read(path);
                if (!set_effective_capabilities(*mine).ok()) return 2;
                const bool open = may_read(path);
                ::unlink(path);
                if (!closed || !open) return 3;
              }
              const auto after = permitted_capabilities();
              return after.ok() && *after == *mine ? 0 : 4;
            }),
            0);
}

}  // namespace
}  // namespace tailor::os
