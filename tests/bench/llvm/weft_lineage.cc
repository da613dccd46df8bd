// What lineage costs on weft's queries. The same plans are generated, sealed, compiled and serialised with
// lineage on and off, the two next to each other for each query, in an order that changes from pair to pair,
// in CPU time of the thread; a round is one pair of each query, and at O0, where a compilation is short, a
// pair's figures are the medians of three. Nothing else is left out. Counters, each with its upper 95 % bound
// over the rounds:
//   share     (on - off) / on, per cent, mean over the queries
//   share_all the same of the sums over the queries
//   ms        on - off, milliseconds, mean over the queries; worst_ms is the mean of the worst query, whose
//             name the label has
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

double cpu_milliseconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

jit::QueryModuleOptions options(bool lineage) {
  return {.name = "bench",
          .tags = jit::TagStrategy::kR15,
          .make_tag = [](ComponentId upper, ComponentId lower) { return upper << 16 | lower; },
          .lineage = lineage};
}

struct Cost {
  double all, ship;  // milliseconds
};

// The whole way from the plan to code and what is told of it.
Cost prepare(jit::Jit& compiler, const GeneratedQuery& plan, jit::OptLevel level, bool lineage) {
  const double begin = cpu_milliseconds();
  double ship = 0;
  {
    GeneratedQuery query(plan, options(lineage));
    auto code = compiler.compile(std::move(query.sealed), {.level = level});
    const double compiled = cpu_milliseconds();
    benchmark::DoNotOptimize(query.dictionary.serialise({1, 1, 1}));
    benchmark::DoNotOptimize((*code)->code_object(1, 1));
    ship = cpu_milliseconds() - compiled;
  }
  return {cpu_milliseconds() - begin, ship};
}

struct Pair {
  Cost on, off;
};

Pair prepare_both(jit::Jit& compiler, const GeneratedQuery& plan, jit::OptLevel level, int repeats,
                  bool on_first) {
  std::vector<double> all[2], ship[2];
  for (int i = 0; i < 2 * repeats; ++i) {
    const bool lineage = (i % 2 == 0) == on_first;
    const Cost cost = prepare(compiler, plan, level, lineage);
    all[lineage].push_back(cost.all);
    ship[lineage].push_back(cost.ship);
  }
  return {{median(all[1]), median(ship[1])}, {median(all[0]), median(ship[0])}};
}

// The CPU clock of the agent's thread.
clockid_t agent_clock() {
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
    daemon_.accept();
  }
  ~Ship() { tailor_agent_stop(1000); }

  void count(benchmark::State& state, const std::string& name, const std::function<Messages()>& build) {
    constexpr int kTimes = 51;
    const clockid_t agent = agent_clock();
    std::vector<double> engine_ms, agent_ms, wall_ms;
    for (int i = 0; i < kTimes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the agent sleeps, as between two queries
      const tailor_plan_ids ids = tailor_plan_new();
      const std::uint64_t code = tailor_code_new();
      const double agent_begin = cpu_milliseconds(agent), begin = cpu_milliseconds();
      const auto wall = std::chrono::steady_clock::now();
      const Messages messages = build();
      tailor_plan_load(ids.id, messages.plan.data(), messages.plan.size());
      tailor_code_load(code, messages.code.data(), messages.code.size());
      engine_ms.push_back(cpu_milliseconds() - begin);
      daemon_.until(v1::AgentMessage::kPlanLoad);
      daemon_.until(v1::AgentMessage::kCodeLoad);
      wall_ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - wall).count());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      agent_ms.push_back(cpu_milliseconds(agent) - agent_begin);
      tailor_code_unload(code);
      tailor_plan_unload(ids.id);
    }
    state.counters[name + "_engine_ms"] = median(engine_ms);
    state.counters[name + "_agent_ms"] = median(agent_ms);
    state.counters[name + "_wall_ms"] = median(wall_ms);
  }

 private:
  agent::testing::FakeDaemon daemon_;
};

void count_bytes(const std::vector<GeneratedQuery>& plans, benchmark::State& state) {
  double entries = 0, bytes = 0;
  for (const GeneratedQuery& query : plans) {
    const v1::Plan plan = query.dictionary.build({});
    const auto& level = plan.levels(GeneratedQuery::kIrLevel);
    entries += level.component_count();
    bytes += static_cast<double>(level.ByteSizeLong());
  }
  state.counters["entry_bytes"] = bytes / entries;
}

void count_largest(const GeneratedQuery& query, jit::Jit& compiler, jit::OptLevel level,
                   benchmark::State& state) {
  const auto code = compiler.compile(query.sealed.clone(), {.level = level});
  const jit::CompiledModule& module = **code;
  state.counters["largest_entries"] = query.dictionary.component_count(GeneratedQuery::kIrLevel);
  state.counters["largest_bytes"] =
      static_cast<double>(query.dictionary.build({}).levels(GeneratedQuery::kIrLevel).ByteSizeLong());
  state.counters["largest_rows"] = static_cast<double>(module.rows().rows().size());
  state.counters["largest_row_bytes"] = static_cast<double>(module.rows().build().ByteSizeLong());
  Ship ship;
  ship.count(state, "links", [&] {
    v1::Plan plan = query.dictionary.build({});
    plan.clear_attachments();
    v1::CodeObject object;
    *object.mutable_rows() = module.rows().build();
    return Messages{plan.SerializeAsString(), object.SerializeAsString()};
  });
  ship.count(state, "all",
             [&] { return Messages{query.dictionary.serialise({1, 1, 1}), module.code_object(1, 1)}; });
}

void weft_lineage(benchmark::State& state) {
  const auto level = static_cast<jit::OptLevel>(state.range(0));
  const int repeats = level == jit::OptLevel::kO0 ? 3 : 1;
  auto compiler = make_test_jit();
  const std::vector<NamedQuery> queries = lineage_queries();
  std::vector<GeneratedQuery> plans;
  for (const NamedQuery& query : queries) plans.emplace_back(query, options(true));
  for (const GeneratedQuery& plan : plans) prepare_both(*compiler, plan, level, 1, true);
  const double count = static_cast<double>(plans.size());
  std::vector<double> shares, shares_all, ms, ship_ms, query_ms(plans.size());
  for (auto _ : state) {
    double share = 0, on = 0, extra = 0, ship = 0;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Pair pair = prepare_both(*compiler, plans[i], level, repeats, (shares.size() + i) % 2 == 0);
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
  count_bytes(plans, state);
  const auto largest = std::max_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
    return a.sealed.component_count() < b.sealed.component_count();
  });
  count_largest(*largest, *compiler, level, state);
}
BENCHMARK(weft_lineage)->Arg(0)->ArgName("O")->Iterations(40)->Unit(benchmark::kMillisecond);
BENCHMARK(weft_lineage)->Arg(2)->ArgName("O")->Iterations(24)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::weft
