// What the agent costs an engine: marks, tags, messages. Run it on an otherwise idle machine; the background
// thread takes what the engine thread says, there is no daemon unless TAILOR_SOCKET names one.
#include <benchmark/benchmark.h>
#include <tailor/agent.h>
#include <x86intrin.h>

#include <string>
#include <thread>

#include "tailor/v1/dictionary.pb.h"

namespace {

void start_agent(const benchmark::State&) {
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "bench";
  tailor_agent_start(&options);
}

// The part of a mark that nothing can save.
void rdtsc(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(__rdtsc());
}
BENCHMARK(rdtsc);

void mark(benchmark::State& state) {
  std::uint64_t tuple = 0;
  for (auto _ : state) tailor_mark_morsel_begin(1, tuple += 1000, 1000);
}
BENCHMARK(mark)->Setup(start_agent);

// What is left where TAILOR_DISABLE is set, or before the start.
void mark_without_agent(benchmark::State& state) {
  tailor_agent_stop(1000);
  std::thread([&] {
    for (auto _ : state) tailor_mark_morsel_begin(1, 0, 1000);
  }).join();
}
BENCHMARK(mark_without_agent);

void tag(benchmark::State& state) {
  tailor_plan_ids plan = tailor_plan_new();
  std::uint32_t component = 0;
  for (auto _ : state) benchmark::DoNotOptimize(tailor_tag(&plan, ++component & 1023, 3));
  tailor_plan_unload(plan.id);
}
BENCHMARK(tag)->Setup(start_agent);

// Begin and end of an execution with its labels: two messages. What the queue refused is in the counter.
void execution(benchmark::State& state) {
  const tailor_label labels[] = {{"user", "alice"}, {"database", "tpch"}, {"query", "select 1"}};
  tailor_agent_counters before{sizeof(before)}, after{sizeof(after)};
  tailor_agent_get_counters(&before);
  for (auto _ : state) tailor_execution_end(tailor_execution_begin(1, labels, 3), 1, nullptr);
  tailor_agent_get_counters(&after);
  state.counters["queued"] = static_cast<double>(after.messages_queued - before.messages_queued);
}
BENCHMARK(execution)->Setup(start_agent)->Iterations(50'000);

// A code object of this many bytes, loaded and unloaded: the copy into the queue.
void code_load(benchmark::State& state) {
  tailor::v1::CodeObject code;
  code.set_base(4096);
  code.set_code(std::string(static_cast<std::size_t>(state.range(0)), 'c'));
  std::string bytes = code.SerializeAsString();
  int refused = 0;
  for (auto _ : state) {
    std::uint64_t id = tailor_code_new();
    refused += tailor_code_load(id, bytes.data(), bytes.size()) != 0;
    tailor_code_unload(id);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
  state.counters["refused"] = refused;
}
BENCHMARK(code_load)->Setup(start_agent)->Arg(30'000)->Arg(300'000)->Iterations(200);

// A thread that registers and ends, beside what a thread costs anyway.
void thread_alone(benchmark::State& state) {
  for (auto _ : state) std::thread([] {}).join();
}
BENCHMARK(thread_alone)->Iterations(2000);
void thread_registered(benchmark::State& state) {
  for (auto _ : state) std::thread([] { tailor_thread_register("w"); }).join();
}
BENCHMARK(thread_registered)->Setup(start_agent)->Iterations(2000);

}  // namespace
