// Small queries from text to answer: every kind of operator, errors, and executions at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "compiler/weft/exec/execution.h"
#include "compiler/weft/exec/plan_cache.h"
#include "compiler/weft/runtime/symbols.h"
#include "compiler/weft/storage/table_file.h"

namespace tailor::weft {
namespace {

using testing::HasSubstr;

// r(k, v, s): keys 0 .. 2999 thrice, k null in every 10th row; u(k, name): even keys below 100.
class WeftExec : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::filesystem::path(testing::TempDir()) / ("weft_exec." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    ColumnType key{.kind = ColumnKind::kInt64, .nullable = true};
    ColumnType money{.kind = ColumnKind::kDecimal, .precision = 12, .scale = 2};
    ColumnType text{.kind = ColumnKind::kVarchar, .nullable = true};
    std::ostringstream r, u;
    for (int i = 0; i < 9000; ++i) {
      r << (i % 10 == 9 ? "" : std::to_string(i % 3000)) << "|" << i % 7 << ".25|"
        << (i % 2 == 0 ? "even" : "odd") << "|\n";
    }
    for (int i = 0; i < 100; i += 2) u << i << "|name " << i << "|\n";
    write({"r", {{"k", key}, {"v", money}, {"s", text}}, 0}, r.str());
    write({"u", {{"k", {.kind = ColumnKind::kInt64}}, {"name", text}}, 1}, u.str());
    database_ = std::move(*Database::open(folder_.string())).release();
    jit_ = std::move(*jit::Jit::create()).release();
    for (const RuntimeSymbol& symbol : runtime_symbols())
      ASSERT_TRUE(jit_->define(symbol.name, symbol.address).ok());
  }
  static void TearDownTestSuite() {
    delete jit_;
    delete database_;
    std::filesystem::remove_all(folder_);
  }
  static void write(const TableDefinition& definition, const std::string& text) {
    auto groups = parse_delimited(text, "text", definition.columns, {}, 1, {});
    ASSERT_TRUE(groups.ok()) << groups.error().message;
    ASSERT_TRUE(
        write_table_file((folder_ / (definition.name + ".weft")).string(), definition, *groups, 1).ok());
  }

  std::unique_ptr<CompiledQuery> compile(const std::string& sql, CompileSettings settings = {}) {
    auto query = CompiledQuery::make(sql, *database_, *jit_, settings);
    EXPECT_TRUE(query.ok()) << query.error().message;
    return query.ok() ? std::move(*query) : nullptr;
  }
  // The answer as text, on one and on three workers, unoptimised and optimised: all the same.
  std::string answer(const std::string& sql) {
    std::string answer;
    for (jit::OptLevel level : {jit::OptLevel::kO0, jit::OptLevel::kO2}) {
      auto query = compile(sql, {.level = level});
      if (query == nullptr) return "";
      for (unsigned workers : {1u, 3u}) {
        WorkerPool pool(workers);
        auto outcome = execute(*query, pool, {});
        if (!outcome.ok()) return outcome.error().message;
        std::ostringstream out;
        print(out, outcome->result, ResultFormat::kPipes);
        std::string rows = out.str().substr(out.str().find('\n') + 1);
        if (answer.empty()) answer = rows;
        EXPECT_EQ(rows, answer) << sql << " on " << workers << " workers";
      }
    }
    return answer;
  }

  static inline std::filesystem::path folder_;
  static inline Database* database_ = nullptr;
  static inline jit::Jit* jit_ = nullptr;
};

TEST_F(WeftExec, AggregatesNullsAndNothing) {
  EXPECT_EQ(answer("select count(*), count(k), min(k), max(k), sum(v) from r"),
            "9000|8100|0|2998|29245.00\n");
  EXPECT_EQ(answer("select count(*), sum(v), max(s) from r where v < 0"), "0|null|null\n");
}

TEST_F(WeftExec, GroupsWithNullKeys) {
  EXPECT_EQ(answer("select k, count(*) from r where k is null or k < 2 group by k order by k nulls first"),
            "null|900\n0|3\n1|3\n");
  EXPECT_EQ(answer("select s, count(*), sum(v) from r group by s order by s"),
            "even|4500|14623.00\nodd|4500|14622.00\n");
}

TEST_F(WeftExec, JoinsOfAllKinds) {
  EXPECT_EQ(answer("select count(*), min(name) from r, u where r.k = u.k"), "150|name 0\n");
  EXPECT_EQ(answer("select count(*), count(name) from r left join u on r.k = u.k"), "9000|150\n");
  EXPECT_EQ(answer("select count(*), count(r.k) from u left join r on r.k = u.k and r.v > 6"), "50|21\n")
      << "the join condition leaves a row for every name";
  EXPECT_EQ(answer("select count(*) from r where exists (select * from u where u.k = r.k)"), "150\n");
  EXPECT_EQ(answer("select count(*) from r where not exists (select * from u where u.k = r.k)"), "8850\n");
  EXPECT_EQ(answer("select count(*) from r where exists (select * from u where u.k = r.k) or v > 6"),
            "1414\n");
}

TEST_F(WeftExec, SortsAndLimits) {
  EXPECT_EQ(answer("select k, name from u order by k desc limit 3"), "98|name 98\n96|name 96\n94|name 94\n");
  EXPECT_EQ(answer("select name from u where name like '%8' order by name"),
            "name 18\nname 28\nname 38\nname 48\nname 58\nname 68\nname 78\nname 8\nname 88\nname 98\n");
}

TEST_F(WeftExec, BurnedCostIsTheIdentity) {
  EXPECT_EQ(answer("select sum(weft_burn_inline(v, 5)), sum(weft_burn_call(k, 5)) from r"),
            answer("select sum(v), sum(k) from r"));
}

TEST_F(WeftExec, MemoryLimitAndCancelAreErrors) {
  auto query = compile("select k, count(*) from r group by k");
  ASSERT_NE(query, nullptr);
  WorkerPool pool(2);
  ExecuteOptions little;
  little.memory_limit = 100'000;
  auto refused = execute(*query, pool, little);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("memory limit"));
  std::atomic<bool> cancel{true};
  ExecuteOptions cancelled;
  cancelled.cancel = &cancel;
  auto stopped = execute(*query, pool, cancelled);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message, "cancelled");
  EXPECT_TRUE(execute(*query, pool, {}).ok()) << "the query is as good as before";
}

TEST_F(WeftExec, ExecutionsOfOneQueryAtOnce) {
  auto query = compile("select s, count(*) from r, u where r.k = u.k group by s order by s");
  ASSERT_NE(query, nullptr);
  std::vector<std::jthread> sessions;
  for (int i = 0; i < 4; ++i) {
    sessions.emplace_back([&] {
      WorkerPool pool(2);
      for (int run = 0; run < 20; ++run) {
        auto outcome = execute(*query, pool, {});
        ASSERT_TRUE(outcome.ok());
        ASSERT_EQ(outcome->result.rows, 1u);
        EXPECT_EQ(plain_text(outcome->result.at(0, 1)), "150");
      }
    });
  }
}

TEST_F(WeftExec, TiersGiveOneAnswer) {
  auto query = compile("select sum(v), count(*) from r where k < 1000", {.tiered = true});
  ASSERT_NE(query, nullptr);
  WorkerPool pool(2);
  std::set<std::string> answers;
  for (int run = 0; run < 24'000 && (run < 20 || query->code().level() == jit::OptLevel::kO0); ++run) {
    auto outcome = execute(*query, pool, {});
    ASSERT_TRUE(outcome.ok());
    answers.insert(plain_text(outcome->result.at(0, 0)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(query->code().level(), jit::OptLevel::kO2);
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(WeftExec, CodeThatCountsKnowsTheRowsOfEveryOperator) {
  for (bool tiered : {false, true}) {
    auto query = compile("select s, count(*) from r, u where r.k = u.k and v > 1 group by s",
                         {.count_rows = true, .tiered = tiered});
    ASSERT_NE(query, nullptr);
    for (unsigned workers : {1u, 3u}) {
      WorkerPool pool(workers);
      auto outcome = execute(*query, pool, {});
      ASSERT_TRUE(outcome.ok());
      auto visit = [&](auto& self, const Operator& op) -> void {
        std::uint64_t rows = outcome->operator_rows[op.id];
        if (op.kind() == OperatorKind::kScan && as<Scan>(op).table->name == "u") {
          EXPECT_EQ(rows, 50u);
        }
        // Of the rows of r, v > 1 leaves six in seven.
        if (op.kind() == OperatorKind::kScan && as<Scan>(op).table->name == "r") {
          EXPECT_EQ(rows, 7714u);
        }
        if (op.kind() == OperatorKind::kHashJoin) {
          EXPECT_EQ(rows, 128u);
        }
        if (op.kind() == OperatorKind::kGroupBy || op.kind() == OperatorKind::kOutput) {
          EXPECT_EQ(rows, 1u);
        }
        for (const OperatorPtr& input : op.inputs) self(self, *input);
      };
      visit(visit, *query->plan().root);
    }
  }
}

TEST_F(WeftExec, ScansSayWhichColumnsTheyReadForWhichRows) {
  auto query = compile("select sum(k) from r where v > 1");
  ASSERT_NE(query, nullptr);
  const v1::Plan plan = query->dictionary().build({1, 2, 3});
  std::uint32_t scan = 0;
  for (const v1::Component& op : plan.levels(0).components())
    if (op.kind() == "scan") scan = op.id();
  const v1::Access *tested = nullptr, *summed = nullptr;
  for (const v1::Component& task : plan.levels(1).components())
    for (const v1::Access& access : task.accesses()) {
      if (access.region().starts_with("r.")) {
        EXPECT_TRUE(access.reads()) << access.region();
      }
      EXPECT_GT(access.pipeline(), 0u);
      EXPECT_LE(access.pipeline(), static_cast<std::uint32_t>(plan.pipelines_size()));
      if (access.region() == "r.v") tested = &access;
      if (access.region() == "r.k") summed = &access;
      EXPECT_NE(access.region(), "r.s") << "the query does not use it";
    }
  ASSERT_NE(tested, nullptr);
  EXPECT_EQ(tested->pattern(), v1::ACCESS_SEQUENTIAL) << "each row is tested";
  EXPECT_EQ(tested->items().fixed(), 9000u);
  ASSERT_NE(summed, nullptr);
  EXPECT_EQ(summed->items().fixed(), 9000u);
  if (summed->pattern() == v1::ACCESS_CONDITIONAL) {
    EXPECT_EQ(summed->accesses().rows_of(), scan) << "rows that passed";
  } else {
    EXPECT_EQ(summed->pattern(), v1::ACCESS_UNKNOWN) << "not each row";
  }
}

// What the plan says of memory with that name. Every access is one that a daemon takes.
std::vector<v1::Access> accesses_to(const CompiledQuery& query, const std::string& region) {
  std::vector<v1::Access> out;
  const v1::Plan plan = query.dictionary().build({1, 2, 3});
  for (const v1::Component& task : plan.levels(1).components())
    for (const v1::Access& access : task.accesses()) {
      EXPECT_TRUE(access.reads() || access.writes()) << access.region();
      EXPECT_GT(access.pipeline(), 0u) << access.region();
      EXPECT_LE(access.pipeline(), static_cast<std::uint32_t>(plan.pipelines_size())) << access.region();
      EXPECT_LE(access.used_bytes(), access.item_bytes()) << access.region();
      if (access.region() == region) out.push_back(access);
    }
  return out;
}

const Operator* first_of(const Operator& op, OperatorKind kind) {
  if (op.kind() == kind) return &op;
  for (const OperatorPtr& input : op.inputs)
    if (const Operator* found = first_of(*input, kind)) return found;
  return nullptr;
}

bool is_known(const v1::Count& count) {
  return count.value_case() != v1::Count::VALUE_NOT_SET;
}

TEST_F(WeftExec, JoinsSayHowTheyUseTheirTable) {
  auto query = compile("select v, name from r, u where r.k = u.k");
  ASSERT_NE(query, nullptr);
  const Operator* join = first_of(*query->plan().root, OperatorKind::kHashJoin);
  ASSERT_NE(join, nullptr);
  const std::uint32_t build = join->inputs[0]->id, probe = join->inputs[1]->id;
  ASSERT_EQ(join->inputs[0]->kind(), OperatorKind::kScan);
  ASSERT_EQ(as<Scan>(*join->inputs[0]).table->name, "u") << "whose keys are never null";
  int found = 0, appended = 0, chained = 0;
  for (const v1::Access& access : accesses_to(*query, "join build")) {
    EXPECT_EQ(access.region_owner(), join->id);
    EXPECT_EQ(access.items().rows_of(), build);
    EXPECT_GE(access.item_bytes(), 16u + 8u) << "a header and a key";
    if (access.pattern() == v1::ACCESS_RANDOM) {
      ++found;
      EXPECT_TRUE(access.reads() && !access.writes());
      EXPECT_TRUE(access.at_least()) << "chains have other rows";
      EXPECT_EQ(access.accesses().rows_of(), join->id);
      EXPECT_GE(access.used_bytes(), 16u + 8u);
    } else if (access.step() == 0) {
      ++appended;
      EXPECT_EQ(access.pattern(), v1::ACCESS_SEQUENTIAL);
      EXPECT_TRUE(access.writes() && !access.reads());
    } else {
      ++chained;
      EXPECT_EQ(access.used_bytes(), 16u);
    }
  }
  EXPECT_EQ(std::vector({found, appended, chained}), std::vector({1, 1, 1}));
  int zeroed = 0, filled = 0, probed = 0;
  for (const v1::Access& access : accesses_to(*query, "join directory")) {
    EXPECT_EQ(access.items().rows_of(), build);
    EXPECT_EQ(access.items().factor(), 1.5);
    EXPECT_TRUE(access.items().power_of_two());
    EXPECT_EQ(access.item_bytes(), 8u);
    if (access.pattern() == v1::ACCESS_SEQUENTIAL) {
      ++zeroed;
      EXPECT_EQ(access.step(), 1u);
    } else if (access.writes()) {
      ++filled;
      EXPECT_EQ(access.step(), 2u);
      EXPECT_EQ(access.accesses().rows_of(), build);
    } else {
      ++probed;
      EXPECT_EQ(access.accesses().rows_of(), probe);
    }
  }
  EXPECT_EQ(std::vector({zeroed, filled, probed}), std::vector({1, 1, 1}));
}

TEST_F(WeftExec, JoinsSayNothingThatNobodyCounts) {
  // Rows whose key is null match nothing, and are not built.
  auto nulls = compile("select a.v, b.v from r a, r b where a.k = b.k");
  ASSERT_NE(nulls, nullptr);
  const std::vector<v1::Access> rows = accesses_to(*nulls, "join build");
  EXPECT_EQ(rows.size(), 3u);
  for (const v1::Access& access : rows) EXPECT_FALSE(is_known(access.items()));
  // Rows without a match come from another place than the others.
  auto outer = compile("select u.k, v from u left join r on r.k = u.k");
  ASSERT_NE(outer, nullptr);
  const Operator* join = first_of(*outer->plan().root, OperatorKind::kHashJoin);
  ASSERT_NE(join, nullptr);
  const bool twice = as<HashJoin>(*join).preserved == JoinSide::kBuild;
  const std::vector<v1::Access> results = accesses_to(*outer, "result");
  EXPECT_EQ(results.size(), twice ? 2u : 1u);
  for (const v1::Access& access : results) EXPECT_EQ(is_known(access.items()), !twice);
  for (const v1::Access& access : accesses_to(*outer, "join build")) {
    if (access.pattern() == v1::ACCESS_RANDOM) {
      EXPECT_FALSE(is_known(access.accesses())) << "some rows are of no match";
    }
  }
}

TEST_F(WeftExec, GroupsAndSortsSayWhatTheyKeep) {
  auto grouped = compile("select s, count(*) from r group by s");
  ASSERT_NE(grouped, nullptr);
  const Operator* group = first_of(*grouped->plan().root, OperatorKind::kGroupBy);
  ASSERT_NE(group, nullptr);
  const std::vector<v1::Access> groups = accesses_to(*grouped, "groups");
  ASSERT_EQ(groups.size(), 2u) << "written, and read";
  for (const v1::Access& access : groups) {
    EXPECT_EQ(access.pattern(), access.writes() ? v1::ACCESS_PARTITIONED : v1::ACCESS_SEQUENTIAL);
    EXPECT_EQ(access.items().rows_of(), group->id);
    EXPECT_TRUE(access.at_least()) << "a group has a row for each worker that met it";
  }
  for (const v1::Access& access : accesses_to(*grouped, "group directory"))
    EXPECT_EQ(access.pattern(), v1::ACCESS_UNKNOWN);
  const std::vector<v1::Access> result = accesses_to(*grouped, "result");
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0].pattern(), v1::ACCESS_SEQUENTIAL);
  EXPECT_TRUE(result[0].writes() && !result[0].reads());
  EXPECT_EQ(result[0].items().rows_of(), grouped->plan().root->inputs[0]->id);

  auto sorted = compile("select k, v from r order by v");
  ASSERT_NE(sorted, nullptr);
  const Operator* sort = first_of(*sorted->plan().root, OperatorKind::kSort);
  ASSERT_NE(sort, nullptr);
  for (const char* region : {"sort run", "sort order"}) {
    const std::vector<v1::Access> accesses = accesses_to(*sorted, region);
    EXPECT_EQ(accesses.size(), 3u) << region << ": written, sorted, scanned";
    for (const v1::Access& access : accesses) {
      if (access.step() == 2) {
        EXPECT_EQ(access.pattern(), v1::ACCESS_UNKNOWN) << region;
      } else if (access.writes()) {
        EXPECT_EQ(access.items().rows_of(), sort->inputs[0]->id) << region;
      }
    }
  }
  auto top = compile("select k, v from r order by v limit 3");
  ASSERT_NE(top, nullptr);
  for (const v1::Access& access : accesses_to(*top, "sort run"))
    EXPECT_EQ(access.pattern(), v1::ACCESS_UNKNOWN) << "who stays in the heap depends on the rows";
}

TEST_F(WeftExec, PlansAreKeptByTextAndSettings) {
  PlanCache cache;
  auto get = [&](const std::string& sql, CompileSettings settings = {}) {
    auto found = cache.get(sql, *database_, *jit_, settings);
    EXPECT_TRUE(found.ok());
    return *found;
  };
  PlanCache::Found first = get("select count(*) from u");
  EXPECT_TRUE(first.compiled);
  EXPECT_EQ(get("select count(*) from u", {.name = "other"}).query, first.query);
  EXPECT_FALSE(get("select count(*) from u").compiled);
  EXPECT_FALSE(get("   \n select count(*) from u ").compiled);
  EXPECT_TRUE(get("select count(*)  from u").compiled);
  EXPECT_TRUE(get("select count(*) from u", {.count_rows = true}).compiled);
  EXPECT_TRUE(get("select count(k) from u").compiled);
  EXPECT_FALSE(cache.get("select nothing", *database_, *jit_, {}).ok());
  for (std::size_t i = 0; i < PlanCache::kMostQueries; ++i)
    get("select count(*) from u where k = " + std::to_string(i), {.level = jit::OptLevel::kO0});
  EXPECT_TRUE(get("select count(*) from u").compiled) << "the one not used for longest went";
}

TEST_F(WeftExec, SortsAndResultsCountAgainstTheLimit) {
  auto sort = compile("select k, v, s from r order by v, k, s");
  auto result = compile("select k, v, s from r");
  ASSERT_TRUE(sort != nullptr && result != nullptr);
  WorkerPool pool(1);
  std::uint64_t sorting = execute(*sort, pool, {})->peak_memory;
  std::uint64_t plain = execute(*result, pool, {})->peak_memory;
  EXPECT_GE(sorting, plain + 9000 * sizeof(void*)) << "rows and their order";
  EXPECT_GE(plain, 9000 * 3 * sizeof(Value)) << "values for the client";
  ExecuteOptions options;
  options.memory_limit = plain - 1;
  auto refused = execute(*result, pool, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("memory limit of"));
}

TEST_F(WeftExec, InstrumentedCodeChargesTheOperatorThatWorks) {
  // So much work that a time slice of another process, in whatever operator it comes, is a small part.
  auto query = compile("select sum(weft_burn_call(v, 4000)) from r", {.instrument = true});
  ASSERT_NE(query, nullptr);
  WorkerPool pool(1);
  auto outcome = execute(*query, pool, {});
  ASSERT_TRUE(outcome.ok());
  std::uint64_t all = 0, most = 0;
  ComponentId bearer = 0;
  for (ComponentId id = 1; id < outcome->operator_cycles.size(); ++id) {
    all += outcome->operator_cycles[id];
    if (outcome->operator_cycles[id] > most) {
      most = outcome->operator_cycles[id];
      bearer = id;
    }
  }
  EXPECT_GT(most, all / 2);
  const Operator* op = query->plan().root.get();
  while (op->id != bearer) op = op->inputs[0].get();
  EXPECT_EQ(op->kind(), OperatorKind::kMap);
}

}  // namespace
}  // namespace tailor::weft
