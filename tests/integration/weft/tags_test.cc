// Tags where weft keeps them, over all its queries: nothing outside is called under a stale one, and threads
// that wait carry none.
#include <gtest/gtest.h>
#include <tailor/tag_scope.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
    TpchLoadOptions load{.scale_factor = 0.01, .directory = tpch_directory(default_data_directory(), 0.01)};
    if (Status loaded = load_tpch(load); !loaded.ok()) {
      why_not_ = loaded.error().message;
      return;
    }
    database_ = std::move(*Database::open(load.directory)).release();
    jit_ = std::move(*jit::Jit::create()).release();
    for (const RuntimeSymbol& symbol : runtime_symbols())
      ASSERT_TRUE(jit_->define(symbol.name, symbol.address).ok());
  }
  static void TearDownTestSuite() {
    delete std::exchange(jit_, nullptr);
    delete std::exchange(database_, nullptr);
    tailor_agent_stop(10000);  // else the thread may still run when the next suite starts one
  }
  void SetUp() override {
    if (database_ == nullptr) GTEST_SKIP() << "no TPC-H data: " << why_not_;
  }

  static std::unique_ptr<CompiledQuery> compile(const NamedQuery& query, OptLevel level, TagStrategy tags) {
    auto made = CompiledQuery::make(std::string(query.sql), *database_, *jit_,
                                    {.name = std::string(query.name), .level = level, .tags = tags});
    EXPECT_TRUE(made.ok()) << query.name << ": " << made.error().message;
    return made.ok() ? std::move(*made) : nullptr;
  }

  static inline Database* database_ = nullptr;
  static inline jit::Jit* jit_ = nullptr;
  static inline std::string why_not_;
};

// Every undefined symbol of every object is a function of the runtime, which is called through call_shared,
// or one whose call LLVM inserted for a known task. None is called otherwise, so no list of exceptions is
// needed.
TEST_F(WeftTags, EveryUndefinedSymbolIsCalledUnderATag) {
  std::set<std::string> runtime, inserted;
  for (const RuntimeSymbol& symbol : runtime_symbols()) runtime.insert(symbol.name);
  std::size_t symbols = 0;
  for (const NamedQuery& query : query_library()) {
    for (TagStrategy tags : {TagStrategy::kR15, TagStrategy::kSwiftSelf}) {
      for (OptLevel level : {OptLevel::kO0, OptLevel::kO1, OptLevel::kO2, OptLevel::kO3}) {
        auto compiled = compile(query, level, tags);
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
  EXPECT_GT(symbols, 8 * query_library().size()) << "imports are found at all";
  for (const std::string& name : inserted) {
    std::printf("inserted by LLVM, for a known task: %s\n", name.c_str());
  }
}

// What the threads of the pool have in the tag's place when they come out of waiting.
std::vector<std::uint64_t> tags_of(WorkerPool& pool, std::uint32_t strategy) {
  std::mutex mutex;
  std::vector<std::uint64_t> tags;
  pool.run([&](unsigned worker) {
    const std::uint64_t tag = tailor_tag_read(strategy);
    std::lock_guard lock(mutex);
    if (worker > 0) tags.push_back(tag);
  });
  return tags;
}

class IdleThreads : public WeftTags, public ::testing::WithParamInterface<TagStrategy> {};

TEST_P(IdleThreads, CarryNoTag) {
  const auto strategy = static_cast<std::uint32_t>(GetParam());
  auto query = compile(*find_query("tpch-3"), OptLevel::kO2, GetParam());
  ASSERT_NE(query, nullptr);
  const std::uint64_t tag = query->tag(1, 1);
  ASSERT_NE(tag, TAILOR_TAG_NONE);
  std::unique_ptr<WorkerPool> pool;
  {
    // A thread starts with the registers of the one that made it.
    TagScope scope(strategy, tag);
    pool = std::make_unique<WorkerPool>(4, strategy);
  }
  auto check = [&](const char* when) {
    EXPECT_EQ(tags_of(*pool, strategy), std::vector<std::uint64_t>(3, TAILOR_TAG_NONE)) << when;
  };
  check("before any work");
  ASSERT_TRUE(execute(*query, *pool, {}).ok());
  check("after a query");
  ExecuteOptions little;
  little.memory_limit = 1000;
  ASSERT_FALSE(execute(*query, *pool, little).ok());
  check("after a query that failed");
}

// The broken twin: a job that leaves its tag behind is found.
TEST_P(IdleThreads, WouldCarryWhatAJobLeaves) {
  const auto strategy = static_cast<std::uint32_t>(GetParam());
  const std::uint64_t tag = tailor_tag_make(1, 2, 3, 4, 5);
  WorkerPool pool(2, strategy);
  pool.run([&](unsigned worker) {
    if (worker > 0) tailor_tag_write(strategy, tag);
  });
  EXPECT_EQ(tags_of(pool, strategy), std::vector<std::uint64_t>{tag});
}

INSTANTIATE_TEST_SUITE_P(Places, IdleThreads,
                         ::testing::Values(TagStrategy::kR15, TagStrategy::kSwiftSelf,
                                           TagStrategy::kMemorySlot),
                         [](const auto& strategy) {
                           if (strategy.param == TagStrategy::kMemorySlot) return "slot";
                           return strategy.param == TagStrategy::kR15 ? "r15" : "r13";
                         });

}  // namespace
}  // namespace tailor::weft
