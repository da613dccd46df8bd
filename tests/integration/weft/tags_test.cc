// Tags where weft keeps them, over all its queries: nothing outside is called under a stale one, and threads
// that wait carry none.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <tailor/tag_scope.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/exec/execution.h"
#include "compiler/weft/runtime/symbols.h"
#include "compiler/weft/storage/tpch_loader.h"
#include "compiler/weft/tool/query_library.h"

namespace tailor::weft {
namespace {

using jit::OptLevel;
using jit::TagStrategy;

class WeftTags : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("TAILOR_SOCKET", "/nonexistent", 1);
    tailor_agent_options options{};
    options.size = sizeof options;
    options.engine_name = "weft_tags_test";
    options.tag_strategy = TAILOR_TAGS_R15;
    ASSERT_EQ(tailor_agent_start(&options), 0);
    TpchLoadOptions load{.scale_factor = 0.01, .directory = TpchDirectory(DefaultDataDirectory(), 0.01)};
    if (Status loaded = LoadTpch(load); !loaded.ok()) {
      why_not_ = loaded.error().message;
      return;
    }
    database_ = std::move(*Database::Open(load.directory)).release();
    jit_ = std::move(*jit::Jit::Create()).release();
    for (const RuntimeSymbol& symbol : RuntimeSymbols())
      ASSERT_TRUE(jit_->Define(symbol.name, symbol.address).ok());
  }
  static void TearDownTestSuite() {
    delete jit_;
    delete database_;
    tailor_agent_stop(0);
  }
  void SetUp() override {
    if (database_ == nullptr) GTEST_SKIP() << "no TPC-H data: " << why_not_;
  }

  static std::unique_ptr<CompiledQuery> Compile(const NamedQuery& query, OptLevel level, TagStrategy tags) {
    auto made = CompiledQuery::Make(std::string(query.sql), *database_, *jit_,
                                    {.name = std::string(query.name), .level = level, .tags = tags});
    EXPECT_TRUE(made.ok()) << query.name << ": " << made.error().message;
    return made.ok() ? std::move(*made) : nullptr;
  }

  static inline Database* database_ = nullptr;
  static inline jit::Jit* jit_ = nullptr;
  static inline std::string why_not_;
};

// Every undefined symbol of every object is a function of the runtime, which is called through CallShared, or
// one whose call LLVM inserted for a known task. None is called otherwise, so no list of exceptions is
// needed.
TEST_F(WeftTags, EveryUndefinedSymbolIsCalledUnderATag) {
  std::set<std::string> runtime, inserted;
  for (const RuntimeSymbol& symbol : RuntimeSymbols()) runtime.insert(symbol.name);
  std::size_t symbols = 0;
  for (const NamedQuery& query : QueryLibrary()) {
    for (TagStrategy tags : {TagStrategy::kR15, TagStrategy::kSwiftSelf}) {
      for (OptLevel level : {OptLevel::kO0, OptLevel::kO2}) {
        auto compiled = Compile(query, level, tags);
        ASSERT_NE(compiled, nullptr);
        for (const jit::Import& import : compiled->code().imports()) {
          ++symbols;
          EXPECT_FALSE(import.untagged)
              << query.name << " calls " << import.name << " under no tag of its own";
          if (!runtime.contains(import.name)) inserted.insert(import.name);
        }
      }
    }
  }
  EXPECT_GT(symbols, 4 * QueryLibrary().size()) << "imports are found at all";
  for (const std::string& name : inserted) {
    std::printf("inserted by LLVM, for a known task: %s\n", name.c_str());
  }
}

struct Registers {
  pid_t tid;
  std::uint64_t r13, r15;
};

// The registers of the threads, as a process beside this one sees them; empty where it may not.
std::vector<Registers> RegistersOf(const std::vector<pid_t>& threads) {
  int pipe[2];
  if (::pipe(pipe) != 0) return {};
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    for (pid_t tid : threads) {
      user_regs_struct registers{};
      if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0 ||
          ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0)
        break;
      if (::waitpid(tid, nullptr, __WALL) != tid || ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0)
        break;
      const Registers found{tid, registers.r13, registers.r15};
      if (::write(pipe[1], &found, sizeof found) != sizeof found) break;
      ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    }
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::vector<Registers> all;
  for (Registers one{}; ::read(pipe[0], &one, sizeof one) == sizeof one;) all.push_back(one);
  ::close(pipe[0]);
  ::waitpid(tracer, nullptr, 0);
  return all;
}

// The threads that a pool made, while they wait.
std::vector<pid_t> ThreadsOf(WorkerPool& pool) {
  std::mutex mutex;
  std::set<pid_t> threads;
  pool.Run([&](unsigned worker) {
    std::lock_guard lock(mutex);
    if (worker > 0) threads.insert(static_cast<pid_t>(::syscall(SYS_gettid)));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return {threads.begin(), threads.end()};
}

class IdleThreads : public WeftTags, public ::testing::WithParamInterface<TagStrategy> {};

TEST_P(IdleThreads, CarryNoTag) {
  const auto strategy = static_cast<std::uint32_t>(GetParam());
  auto query = Compile(*FindQuery("tpch-3"), OptLevel::kO2, GetParam());
  ASSERT_NE(query, nullptr);
  const std::uint64_t tag = query->Tag(1, 1);
  ASSERT_NE(tag, TAILOR_TAG_NONE);
  std::unique_ptr<WorkerPool> pool;
  {
    // A thread starts with the registers of the one that made it.
    TagScope scope(strategy, tag);
    pool = std::make_unique<WorkerPool>(4, strategy);
  }
  auto check = [&](const char* when) {
    const std::vector<pid_t> threads = ThreadsOf(*pool);
    const std::vector<Registers> registers = RegistersOf(threads);
    if (registers.empty()) GTEST_SKIP() << "ptrace is not permitted here";
    EXPECT_EQ(registers.size(), threads.size());
    for (const Registers& thread : registers) {
      EXPECT_EQ(GetParam() == TagStrategy::kR15 ? thread.r15 : thread.r13, TAILOR_TAG_NONE) << when;
    }
  };
  check("before any work");
  ASSERT_TRUE(Execute(*query, *pool, {}).ok());
  check("after a query");
  ExecuteOptions little;
  little.memory_limit = 1000;
  ASSERT_FALSE(Execute(*query, *pool, little).ok());
  check("after a query that failed");
}

// The broken twin: a pool that clears nothing leaves its threads with what their maker had.
TEST_P(IdleThreads, WouldCarryTheOneOfWhoMadeThem) {
  const auto strategy = static_cast<std::uint32_t>(GetParam());
  const std::uint64_t tag = tailor_tag_make(1, 2, 3, 4, 5);
  std::unique_ptr<WorkerPool> pool;
  {
    TagScope scope(strategy, tag);
    pool = std::make_unique<WorkerPool>(2, TAILOR_TAGS_NONE);
  }
  const std::vector<Registers> registers = RegistersOf(ThreadsOf(*pool));
  if (registers.empty()) GTEST_SKIP() << "ptrace is not permitted here";
  EXPECT_EQ(GetParam() == TagStrategy::kR15 ? registers[0].r15 : registers[0].r13, tag);
}

INSTANTIATE_TEST_SUITE_P(Registers, IdleThreads,
                         ::testing::Values(TagStrategy::kR15, TagStrategy::kSwiftSelf),
                         [](const auto& strategy) {
                           return strategy.param == TagStrategy::kR15 ? "r15" : "r13";
                         });

}  // namespace
}  // namespace tailor::weft
