// The agent never harms its host: every limit, closed and reused descriptors, system calls that a filter
// refuses, memory that is not to be had. Each case is a process of its own, which must live, get its work
// done, and end as it wants to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tailor/agent.h>
#include <tailor/dictionary.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/sanitizers.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

int start(const std::string& socket, std::uint32_t flags) {
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "hard host";
  options.socket_path = socket.c_str();
  options.flags = flags;
  return tailor_agent_start(&options);
}

// Made while memory is to be had; it does not fit into a packet.
const std::string kText(200'000, 't');

// What an engine does with an agent, whether it runs or not.
void use_agent() {
  tailor_plan_ids plan = tailor_plan_new();
  tailor_plan_builder* builder = tailor_plan_builder_new("q");
  tailor_plan_builder_add_level(builder, "operator");
  tailor_plan_builder_attach(builder, "sql", kText.data(), kText.size());
  tailor_plan_builder_load(builder, plan.id);
  tailor_plan_builder_free(builder);
  std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
  tailor_mark_execution_begin(execution, plan.id);
  for (std::uint32_t i = 0; i < 1000; ++i) tailor_mark_morsel_begin(1, i, 1);
  if (std::uint64_t* slot = tailor_thread_slot()) *slot = 7;
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 0, nullptr);
  for (int i = 0; i < 5; ++i) tailor_agent_pump();
  tailor_agent_barrier(50);
  tailor_plan_unload(plan.id);
}

// Runs the host in a process of its own, once with the agent's thread and once without, against a daemon that
// listens. `prepare` makes it hard before the agent starts.
class HardHosts : public ::testing::Test {
 protected:
  void survives(const char* what, const std::function<void()>& prepare) {
    TAILOR_SKIP_FORK_UNDER_TSAN();
    for (std::uint32_t flags : {0u, std::uint32_t{TAILOR_AGENT_NO_THREAD}}) {
      pid_t child = ::fork();
      if (child == 0) {
        prepare();
        start(server_.path(), flags);
        use_agent();
        tailor_agent_stop(200);
        ::_exit(0);
      }
      int status = 0;
      EXPECT_TRUE(server_.until([&] { return ::waitpid(child, &status, WNOHANG) == child; })) << what;
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << what << ", flags " << flags << ": "
          << (WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "");
    }
  }
  TestServer server_;
};

struct Limit {
  int resource;
  const char* name;
};

// The twin: what the agent must not do ends a process under the same limit.
TEST_F(HardHosts, TheLimitOfFilesEndsWhoGoesBeyondIt) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int fd = ::memfd_create("x", 0);
    ::_exit(::ftruncate(fd, 32 << 20));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

TEST_F(HardHosts, SurviveEveryLimit) {
  constexpr Limit kLimits[] = {
      {RLIMIT_FSIZE, "fsize"},       {RLIMIT_AS, "as"},         {RLIMIT_DATA, "data"},
      {RLIMIT_NOFILE, "nofile"},     {RLIMIT_NPROC, "nproc"},   {RLIMIT_MEMLOCK, "memlock"},
      {RLIMIT_STACK, "stack"},       {RLIMIT_CORE, "core"},     {RLIMIT_SIGPENDING, "signals"},
      {RLIMIT_MSGQUEUE, "msgqueue"}, {RLIMIT_RTPRIO, "rtprio"}, {RLIMIT_RSS, "rss"}};
  for (const Limit& limit : kLimits) {
    for (rlim_t value :
         {rlim_t{0}, rlim_t{8}, rlim_t{5000}, rlim_t{100'000}, rlim_t{1} << 20, rlim_t{40} << 20}) {
      // The host itself must be able to run.
      if (limit.resource == RLIMIT_STACK && value < (1 << 20)) continue;
      survives((std::string(limit.name) + " " + std::to_string(value)).c_str(), [&] {
        rlimit both{value, value};
        ::setrlimit(limit.resource, &both);
      });
    }
  }
}

// With less room for files the agent is smaller, not absent.
TEST_F(HardHosts, LogsAreShorterWhereFilesMustBeSmall) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  for (auto [limit, starts] : {std::pair{1 << 20, true}, std::pair{16'000, true}, std::pair{100, false}}) {
    pid_t child = ::fork();
    if (child == 0) {
      rlimit both{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
      ::setrlimit(RLIMIT_FSIZE, &both);
      int result = start("/nonexistent", 0);
      bool works = result == 0 && tailor_thread_register("main") == 0;
      use_agent();
      ::_exit(starts ? !works : result != -EFBIG);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << limit;
  }
}

// A host that closes what it does not own, and gets the numbers again for files of its own: they stay empty.
TEST_F(HardHosts, NothingIsWrittenToDescriptorsTheHostUsesAgain) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  for (std::uint32_t flags : {0u, std::uint32_t{TAILOR_AGENT_NO_THREAD}}) {
    pid_t child = ::fork();
    if (child == 0) {
      bool started = start(server_.path(), flags) == 0;
      tailor_thread_register("main");
      for (int i = 0; i < 6'000 && !tailor_agent_connected(); ++i) {
        tailor_agent_pump();
        ::usleep(10'000);
      }
      bool connected = tailor_agent_connected();
      std::vector<int> files;
      for (int fd = 3; fd < 64; ++fd) ::close(fd);
      for (int i = 3; i < 40; ++i) files.push_back(::memfd_create("mine", 0));
      for (int i = 0; i < 20; ++i) {
        use_agent();
        ::usleep(5'000);
      }
      tailor_agent_stop(200);
      for (int fd : files) {
        struct stat file{};
        if (::fstat(fd, &file) != 0 || file.st_size != 0) ::_exit(2);
      }
      ::_exit(started && connected ? 0 : 3);
    }
    int status = 0;
    EXPECT_TRUE(server_.until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    EXPECT_EQ(WEXITSTATUS(status), 0) << flags;
  }
}

void refuse(long call) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(filter) / sizeof(*filter), filter};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST_F(HardHosts, SurviveRefusedSystemCalls) {
  for (long call :
       {SYS_memfd_create, SYS_ftruncate, SYS_mmap, SYS_socket, SYS_connect, SYS_sendmsg, SYS_recvfrom,
        SYS_clone3, SYS_clone, SYS_getrandom, SYS_fcntl, SYS_poll, SYS_rt_sigprocmask, SYS_prlimit64,
        SYS_newfstatat, SYS_madvise, SYS_gettid, SYS_rt_sigtimedwait, SYS_write}) {
    survives(("system call " + std::to_string(call)).c_str(), [&] { refuse(call); });
  }
}

TEST_F(HardHosts, SurviveAFullSharedMemory) {
  survives("full /dev/shm", [] {
    if (::unshare(CLONE_NEWNS) != 0) return;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k") != 0) return;
    int fd = ::open("/dev/shm/full", O_CREAT | O_WRONLY, 0600);
    char page[4096] = {};
    while (::write(fd, page, sizeof(page)) > 0) {
    }
  });
}

TEST_F(HardHosts, SurviveWithoutStandardStreams) {
  survives("closed streams", [] {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
  });
}

// A daemon that reads nothing makes a stop run out of time; the agent can start again.
TEST_F(HardHosts, AStopThatRunsOutOfTimeLeavesAnAgentThatStarts) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 3; ++i) {
      if (start(server_.path(), 0) != 0) ::_exit(1);
      for (int k = 0; k < 20; ++k) use_agent();
      tailor_agent_stop(0);
    }
    ::_exit(start(server_.path(), 0) == 0 && tailor_plan_new().id != 0 ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);  // nobody polls the server meanwhile
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tailor::registration::testing
