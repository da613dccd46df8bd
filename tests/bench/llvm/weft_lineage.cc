// What lineage costs on weft's queries. The same plans are generated, sealed and compiled with lineage on and
// off, in turn; an iteration is one pair over all queries, in CPU time. Counters: share (mean of the pairs,
// per cent), upper95 (upper bound of its 95 % interval), ms_per_query (mean difference), and of the IR level
// on the wire: bytes_per_entry (all queries), largest_entries, largest_bytes, largest_ms (to build and
// serialise it).
#include <benchmark/benchmark.h>
#include <time.h>

#include "tests/bench/llvm/mean_share.h"
#include "tests/support/weft_code.h"

namespace tailor::weft {
namespace {

double CpuMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

jit::QueryModuleOptions Options(bool lineage) {
  return {.name = "bench",
          .tags = jit::TagStrategy::kR15,
          .make_tag = [](ComponentId upper, ComponentId lower) { return upper << 16 | lower; },
          .lineage = lineage};
}

// The whole way from the plan to code.
double CompileAll(jit::Jit& compiler, const std::vector<GeneratedQuery>& plans, jit::OptLevel level,
                  bool lineage) {
  const double begin = CpuMilliseconds();
  for (const GeneratedQuery& plan : plans) {
    GeneratedQuery query(plan, Options(lineage));
    benchmark::DoNotOptimize(compiler.Compile(std::move(query.sealed), {.level = level}));
  }
  return CpuMilliseconds() - begin;
}

void Wire(const std::vector<GeneratedQuery>& plans, benchmark::State& state) {
  double entries = 0, bytes = 0, largest_entries = 0, largest_bytes = 0;
  const GeneratedQuery* largest = nullptr;
  for (const GeneratedQuery& query : plans) {
    const tailor::v1::Plan plan = query.dictionary.Build({});
    const auto& level = plan.levels(GeneratedQuery::kIrLevel);
    entries += level.component_count();
    bytes += static_cast<double>(level.ByteSizeLong());
    if (level.component_count() <= largest_entries) continue;
    largest = &query;
    largest_entries = level.component_count();
    largest_bytes = static_cast<double>(level.ByteSizeLong());
  }
  const double begin = CpuMilliseconds();
  benchmark::DoNotOptimize(
      largest->dictionary.Build({}).levels(GeneratedQuery::kIrLevel).SerializeAsString());
  state.counters["largest_ms"] = CpuMilliseconds() - begin;
  state.counters["bytes_per_entry"] = bytes / entries;
  state.counters["largest_entries"] = largest_entries;
  state.counters["largest_bytes"] = largest_bytes;
}

void WeftLineage(benchmark::State& state) {
  const auto level = static_cast<jit::OptLevel>(state.range(0));
  auto compiler = MakeTestJit();
  std::vector<GeneratedQuery> plans;
  for (const NamedQuery& query : LineageQueries()) plans.emplace_back(query, Options(true));
  CompileAll(*compiler, plans, level, true);
  std::vector<double> shares;
  double extra = 0;
  for (auto _ : state) {
    double with = 0, without = 0;
    for (int turn = 0; turn < 2; ++turn) {
      const bool lineage = (turn == 0) == (shares.size() % 2 == 0);
      (lineage ? with : without) = CompileAll(*compiler, plans, level, lineage);
    }
    shares.push_back((with - without) / with);
    extra += with - without;
  }
  const double n = static_cast<double>(shares.size());
  tailor::bench::count_shares(state, shares);
  state.counters["ms_per_query"] = extra / n / static_cast<double>(plans.size());
  Wire(plans, state);
}
BENCHMARK(WeftLineage)->Arg(0)->Arg(2)->ArgName("O")->Iterations(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::weft
