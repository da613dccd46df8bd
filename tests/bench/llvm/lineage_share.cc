// What lineage costs of a query's compilation: the same four pipelines are generated, sealed and compiled
// with lineage on and off, in turn; the share is that of the CPU time of each pair. Counters: share (mean of
// the pairs, per cent), share_upper95 (upper bound of its 95 % interval), off_ms and on_ms (mean), wire_bytes
// (of the IR level for one component).
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>

#include "compiler/llvm/jit.h"
#include "tests/bench/llvm/mean_share.h"
#include "tests/support/synthetic_query.h"

namespace tailor::jit {
namespace {

extern "C" void* ShareBenchGroup(void* table, std::int64_t) {
  return table;
}
extern "C" void ShareBenchEmit(std::int64_t, std::int64_t) {}

double cpu_milliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Run {
  double milliseconds = 0;
  double wire_bytes = 0;
};

Run compile_once(Jit& jit, OptLevel level, bool lineage, unsigned seed) {
  Run run;
  double begin = cpu_milliseconds();
  tagging::DictionaryBuilder plan("bench", {"operator", "task", "ir"});
  add_synthetic_plan(plan);
  QueryModule module(plan,
                     {.name = "bench",
                      .tags = TagStrategy::kR15,
                      .make_tag = [](ComponentId upper, ComponentId lower) { return upper << 16 | lower; },
                      .lineage = lineage});
  for (unsigned i = 0; i < 4; ++i) build_synthetic_query(module, "pipeline" + std::to_string(i), seed + i);
  auto sealed = module.seal();
  auto code = jit.compile(std::move(*sealed), {.level = level});
  benchmark::DoNotOptimize(code);
  run.milliseconds = cpu_milliseconds() - begin;
  if (lineage) {
    tailor::v1::Plan wire = plan.build({});
    run.wire_bytes = static_cast<double>(wire.levels(2).ByteSizeLong()) / wire.levels(2).component_count();
  }
  return run;
}

void lineage_share(benchmark::State& state) {
  const auto level = static_cast<OptLevel>(state.range(0));
  auto jit = std::move(*Jit::create());
  if (!jit->define("synthetic_group", reinterpret_cast<void*>(&ShareBenchGroup)).ok() ||
      !jit->define("synthetic_emit", reinterpret_cast<void*>(&ShareBenchEmit)).ok()) {
    state.SkipWithError("cannot define the runtime");
    return;
  }
  compile_once(*jit, level, true, 1);
  std::vector<double> shares;
  double off = 0, on = 0;
  Run last;
  unsigned seed = 0;
  for (auto _ : state) {
    ++seed;
    Run with, without;
    for (int turn = 0; turn < 2; ++turn) {
      if ((turn == 0) == (seed % 2 == 0)) {
        with = compile_once(*jit, level, true, seed);
      } else {
        without = compile_once(*jit, level, false, seed);
      }
    }
    shares.push_back((with.milliseconds - without.milliseconds) / with.milliseconds);
    on += with.milliseconds;
    off += without.milliseconds;
    last = with;
  }
  const double n = static_cast<double>(shares.size());
  tailor::bench::count_shares(state, shares);
  state.counters["off_ms"] = off / n;
  state.counters["on_ms"] = on / n;
  state.counters["wire_bytes"] = last.wire_bytes;
}
BENCHMARK(lineage_share)->DenseRange(0, 3)->ArgName("O")->Iterations(30)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::jit
