#include "daemon/os/host_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/os/living_folder.h"
#include "tests/support/fake_os.h"

namespace tailor::os {
namespace {

TEST(HostFiles, CpuListsWithHoles) {
  EXPECT_EQ(*parse_cpu_list("0-2,5,7-8"), (std::vector<int>{0, 1, 2, 5, 7, 8}));
  EXPECT_EQ(*parse_cpu_list("3"), (std::vector<int>{3}));
  EXPECT_TRUE(parse_cpu_list("")->empty());
  for (const char* wrong : {"0-", "a", "2-1", "0-99999999", "-1", "1,,2", "1 2"}) {
    EXPECT_FALSE(parse_cpu_list(wrong).ok()) << wrong;
  }
}

TEST(HostFiles, OnlineCpusNeedNoCpuZero) {
  test::FakeOs os;
  os.set_online_cpus("1,3");
  EXPECT_EQ(*online_cpus(os), (std::vector<int>{1, 3}));
  os.set_online_cpus("");
  EXPECT_FALSE(online_cpus(os).ok());
}

TEST(HostFiles, ThreadsAreTheNumbersAmongTheEntries) {
  test::FakeOs os;
  os.add_threads(5, {9, 5, 7});
  os.proc_files().write("5/task/stray", "");
  EXPECT_EQ(*threads_of(os, 5), (std::vector<pid_t>{5, 7, 9}));
  EXPECT_FALSE(threads_of(os, 6).ok());
}

// The main thread of a process may end before the others: then /proc/PID has no memory.
TEST(HostFiles, AThreadThatLivesShowsTheMemoryOfItsProcess) {
  test::FakeOs os;
  os.proc_files().write("5/maps", "1000-2000 r-xp\n");
  EXPECT_EQ(living_folder(os.proc(), 5), os.proc() / "5");
  os.proc_files().write("6/maps", "");
  os.proc_files().write("6/task/6/maps", "");
  os.proc_files().write("6/task/9/maps", "1000-2000 r-xp\n");
  EXPECT_EQ(living_folder(os.proc(), 6), os.proc() / "6/task/9");
  os.proc_files().write("7/task/7/maps", "");
  EXPECT_EQ(living_folder(os.proc(), 7), os.proc() / "7");
  EXPECT_EQ(living_folder(os.proc(), 8), os.proc() / "8");
}

TEST(HostFiles, StartTimeAfterANameWithParentheses) {
  test::FakeOs os;
  os.proc_files().write("5/stat", "5 (a) b) (c) S 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 99 1\n");
  EXPECT_EQ(*start_time_of(os, 5), 123456u);
  os.proc_files().write("6/stat", "6 (short) S 1\n");
  EXPECT_FALSE(start_time_of(os, 6).ok());
  EXPECT_FALSE(start_time_of(os, 7).ok());
}

TEST(HostFiles, AProcessThatEndsHasNoMemory) {
  test::FakeOs os;
  const auto stat = [](const char* size) {
    return std::string("5 (a) b) R 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 ") + size + " 1\n";
  };
  os.proc_files().write("5/stat", stat("4096"));
  EXPECT_TRUE(has_memory(os, {5, 123456}));
  EXPECT_TRUE(has_memory(os, {5, 0}));
  EXPECT_FALSE(has_memory(os, {5, 123457})) << "another process has its number";
  EXPECT_FALSE(has_memory(os, {6, 123456}));
  os.proc_files().write("5/stat", stat("0"));
  EXPECT_FALSE(has_memory(os, {5, 123456}));
}

TEST(HostFiles, TheProcessOfAThread) {
  test::FakeOs os;
  os.proc_files().write("7/status", "Name:\ta\nTgid:\t5\nNgid:\t0\nPid:\t7\n");
  os.proc_files().write("8/status", "Name:\tTgid: 9\nTgid:\t8\nPid:\t8\n");
  os.proc_files().write("9/status", "Name:\ta\nTgid:\tnone\n");
  EXPECT_EQ(process_of(os, 7), 5);
  EXPECT_EQ(process_of(os, 8), 8);
  EXPECT_EQ(process_of(os, 9), 9);
  EXPECT_EQ(process_of(os, 10), 10) << "there is none";
}

TEST(HostFiles, TimesOfAProcessAndTheHypervisor) {
  test::FakeOs os;
  const auto tick = static_cast<std::uint64_t>(1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  os.proc_files().write("5/stat", "5 (a) b) S 1 5 5 0 -1 4194560 1 2 3 4 50 7 7 8 20 0 1 0 123456 99 1\n");
  EXPECT_EQ(cpu_time_of(os, 5)->all(), 57 * tick);
  EXPECT_FALSE(cpu_time_of(os, 6).ok());
  EXPECT_EQ(cpu_time_of(os, ProcessId{5, 123456})->all(), 57 * tick);
  EXPECT_FALSE(cpu_time_of(os, ProcessId{5, 123457}).ok()) << "another process had that pid";
  EXPECT_FALSE(cpu_time_of(os, ProcessId{6, 123456}).ok());
  EXPECT_FALSE(steal_time(os));
  os.proc_files().write("stat", "cpu  1 2 3 4 5 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\n");
  EXPECT_EQ(steal_time(os), 80 * tick);
  os.proc_files().write("stat", "cpu  1 2 3\n");
  EXPECT_FALSE(steal_time(os));
}

TEST(HostFiles, OurselvesOnTheRealHost) {
  auto self = identify(real(), ::getpid());
  ASSERT_TRUE(self.ok());
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_GT(self->start, 0u);
}

TEST(HostFiles, LargeFilesAreRefused) {
  test::FakeOs os;
  os.proc_files().write("big", std::string(100, 'x'));
  EXPECT_FALSE(read_text(os.proc() / "big", 99).ok());
  EXPECT_TRUE(read_text(os.proc() / "big", 100).ok());
}

}  // namespace
}  // namespace tailor::os
