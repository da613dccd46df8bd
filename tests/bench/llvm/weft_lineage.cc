// What lineage costs on weft's queries. The same plans are generated, sealed, compiled and serialised with
// lineage on and off, the two next to each other for each query, in an order that changes from pair to pair,
// in CPU time of the thread; a round is one pair of each query, and at O0, where a compilation is short, a
// pair's figures are the medians of three. Nothing else is left out. Counters, each with its upper 95 % bound
// over the rounds:
//   share     (on - off) / on, per cent, mean over the queries
//   share_all the same of the sums over the queries
//   ms        on - off, milliseconds, mean over the queries; worst_ms is the mean of the worst query, which
//   the
//             label names
//   ship_ms   what of it serialises plan and code object
// In bytes: of the level IR an entry (entry_bytes), of the largest query (largest_entries, largest_bytes), of
// its row table (largest_rows, largest_row_bytes). links_* and all_*, milliseconds, medians of 51: what
// shipping the links and rows of the largest query, or all of its plan and code object, takes the engine's
// thread (engine_ms, from building the messages to their being queued), the agent's thread (agent_ms), and
// until they have been read at the other end of the socket (wall_ms).
#include <benchmark/benchmark.h>
#include <tailor/agent.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "tests/bench/llvm/mean_share.h"
#include "tests/support/weft_code.h"
#include "tests/unit/agent/fake_daemon.h"

namespace tailor::weft {
namespace {

double CpuMilliseconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

jit::QueryModuleOptions Options(bool lineage) {
  return {.name = "bench",
          .tags = jit::TagStrategy::kR15,
          .make_tag = [](ComponentId upper, ComponentId lower) { return upper << 16 | lower; },
          .lineage = lineage};
}

struct Cost {
  double all, ship;  // milliseconds
};

// The whole way from the plan to code and what is told of it.
Cost Prepare(jit::Jit& compiler, const GeneratedQuery& plan, jit::OptLevel level, bool lineage) {
  const double begin = CpuMilliseconds();
  double ship = 0;
  {
    GeneratedQuery query(plan, Options(lineage));
    auto code = compiler.Compile(std::move(query.sealed), {.level = level});
    const double compiled = CpuMilliseconds();
    benchmark::DoNotOptimize(query.dictionary.Serialise({1, 1, 1}));
    benchmark::DoNotOptimize((*code)->CodeObject(1, 1));
    ship = CpuMilliseconds() - compiled;
  }
  return {CpuMilliseconds() - begin, ship};
}

struct Pair {
  Cost on, off;
};

Pair PrepareBoth(jit::Jit& compiler, const GeneratedQuery& plan, jit::OptLevel level, int repeats,
                 bool on_first) {
  std::vector<double> all[2], ship[2];
  for (int i = 0; i < 2 * repeats; ++i) {
    const bool lineage = (i % 2 == 0) == on_first;
    const Cost cost = Prepare(compiler, plan, level, lineage);
    all[lineage].push_back(cost.all);
    ship[lineage].push_back(cost.ship);
  }
  return {{Median(all[1]), Median(ship[1])}, {Median(all[0]), Median(ship[0])}};
}

// The CPU clock of the agent's thread.
clockid_t AgentClock() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    const int tid = std::atoi(task.path().filename().c_str());
    if (name == "tailor-agent")
      return static_cast<clockid_t>(~tid * 8 | 6);  // clock_getcpuclockid(3), by thread
  }
  std::abort();
}

struct Messages {
  std::string plan, code;
};

// An agent and what reads at the other end of its socket.
class Ship {
 public:
  Ship() {
    tailor_agent_options options{};
    options.size = sizeof(options);
    options.engine_name = "bench";
    options.tag_strategy = TAILOR_TAGS_R15;
    options.socket_path = daemon_.path().c_str();
    if (tailor_agent_start(&options) != 0) std::abort();
    daemon_.Accept();
  }
  ~Ship() { tailor_agent_stop(1000); }

  void Count(benchmark::State& state, const std::string& name, const std::function<Messages()>& build) {
    constexpr int kTimes = 51;
    const clockid_t agent = AgentClock();
    std::vector<double> engine_ms, agent_ms, wall_ms;
    for (int i = 0; i < kTimes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the agent sleeps, as between two queries
      const tailor_plan_ids ids = tailor_plan_new();
      const std::uint64_t code = tailor_code_new();
      const double agent_begin = CpuMilliseconds(agent), begin = CpuMilliseconds();
      const auto wall = std::chrono::steady_clock::now();
      const Messages messages = build();
      tailor_plan_load(ids.id, messages.plan.data(), messages.plan.size());
      tailor_code_load(code, messages.code.data(), messages.code.size());
      engine_ms.push_back(CpuMilliseconds() - begin);
      daemon_.Until(v1::AgentMessage::kPlanLoad);
      daemon_.Until(v1::AgentMessage::kCodeLoad);
      wall_ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - wall).count());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      agent_ms.push_back(CpuMilliseconds(agent) - agent_begin);
      tailor_code_unload(code);
      tailor_plan_unload(ids.id);
    }
    state.counters[name + "_engine_ms"] = Median(engine_ms);
    state.counters[name + "_agent_ms"] = Median(agent_ms);
    state.counters[name + "_wall_ms"] = Median(wall_ms);
  }

 private:
  agent::testing::FakeDaemon daemon_;
};

void CountBytes(const std::vector<GeneratedQuery>& plans, benchmark::State& state) {
  double entries = 0, bytes = 0;
  for (const GeneratedQuery& query : plans) {
    const v1::Plan plan = query.dictionary.Build({});
    const auto& level = plan.levels(GeneratedQuery::kIrLevel);
    entries += level.component_count();
    bytes += static_cast<double>(level.ByteSizeLong());
  }
  state.counters["entry_bytes"] = bytes / entries;
}

void CountLargest(const GeneratedQuery& query, jit::Jit& compiler, jit::OptLevel level,
                  benchmark::State& state) {
  const auto code = compiler.Compile(query.sealed.Clone(), {.level = level});
  const jit::CompiledModule& module = **code;
  state.counters["largest_entries"] = query.dictionary.component_count(GeneratedQuery::kIrLevel);
  state.counters["largest_bytes"] =
      static_cast<double>(query.dictionary.Build({}).levels(GeneratedQuery::kIrLevel).ByteSizeLong());
  state.counters["largest_rows"] = static_cast<double>(module.rows().rows().size());
  state.counters["largest_row_bytes"] = static_cast<double>(module.rows().Build().ByteSizeLong());
  Ship ship;
  ship.Count(state, "links", [&] {
    v1::Plan plan = query.dictionary.Build({});
    plan.clear_attachments();
    v1::CodeObject object;
    *object.mutable_rows() = module.rows().Build();
    return Messages{plan.SerializeAsString(), object.SerializeAsString()};
  });
  ship.Count(state, "all",
             [&] { return Messages{query.dictionary.Serialise({1, 1, 1}), module.CodeObject(1, 1)}; });
}

void WeftLineage(benchmark::State& state) {
  const auto level = static_cast<jit::OptLevel>(state.range(0));
  const int repeats = level == jit::OptLevel::kO0 ? 3 : 1;
  auto compiler = MakeTestJit();
  const std::vector<NamedQuery> queries = LineageQueries();
  std::vector<GeneratedQuery> plans;
  for (const NamedQuery& query : queries) plans.emplace_back(query, Options(true));
  for (const GeneratedQuery& plan : plans) PrepareBoth(*compiler, plan, level, 1, true);
  const double count = static_cast<double>(plans.size());
  std::vector<double> shares, shares_all, ms, ship_ms, query_ms(plans.size());
  for (auto _ : state) {
    double share = 0, on = 0, extra = 0, ship = 0;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Pair pair = PrepareBoth(*compiler, plans[i], level, repeats, (shares.size() + i) % 2 == 0);
      share += (pair.on.all - pair.off.all) / pair.on.all / count;
      on += pair.on.all;
      extra += pair.on.all - pair.off.all;
      ship += pair.on.ship - pair.off.ship;
      query_ms[i] += pair.on.all - pair.off.all;
    }
    shares.push_back(100 * share);
    shares_all.push_back(100 * extra / on);
    ms.push_back(extra / count);
    ship_ms.push_back(ship / count);
  }
  bench::count_mean(state, "share", shares);
  bench::count_mean(state, "share_all", shares_all);
  bench::count_mean(state, "ms", ms);
  bench::count_mean(state, "ship_ms", ship_ms);
  const auto worst = std::max_element(query_ms.begin(), query_ms.end());
  state.counters["worst_ms"] = *worst / static_cast<double>(shares.size());
  state.SetLabel(std::string(queries[static_cast<std::size_t>(worst - query_ms.begin())].name));
  CountBytes(plans, state);
  const auto largest = std::max_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
    return a.sealed.component_count() < b.sealed.component_count();
  });
  CountLargest(*largest, *compiler, level, state);
}
BENCHMARK(WeftLineage)->Arg(0)->ArgName("O")->Iterations(40)->Unit(benchmark::kMillisecond);
BENCHMARK(WeftLineage)->Arg(2)->ArgName("O")->Iterations(24)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::weft
