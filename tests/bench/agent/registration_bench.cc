// What an agent costs the daemon: reading logs and checking messages.
#include <benchmark/benchmark.h>

#include "daemon/registration/log_reader.h"
#include "daemon/registration/message_parser.h"
#include "tests/unit/registration/fake_arena.h"

namespace tailor::registration {
namespace {

void drain_log(benchmark::State& state) {
  testing::FakeArena arena(1, 4096);
  auto view = arena.view();
  arena.begin_thread(7);
  LogReader reader;
  std::int64_t records = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 2000; ++i) arena.append(TAILOR_LOG_MORSEL_BEGIN, 1);
    state.ResumeTiming();
    for (const LogRun& run : reader.drain(*view, 0)) records += static_cast<std::int64_t>(run.records.size());
  }
  state.SetItemsProcessed(records);
}
BENCHMARK(drain_log);

// Areas in which nothing happened.
void drain_idle(benchmark::State& state) {
  testing::FakeArena arena(64, 64);
  auto view = arena.view();
  std::vector<LogReader> readers(64);
  for (auto _ : state) {
    for (std::uint32_t area = 0; area < 64; ++area)
      benchmark::DoNotOptimize(readers[area].drain(*view, area));
  }
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(drain_idle);

// A code object with this many rows, as a compiled query has them: decoded and checked.
void parse_code(benchmark::State& state) {
  v1::AgentMessage message;
  v1::CodeObject& code = *message.mutable_code_load();
  code.set_id(1);
  code.set_base(4096);
  auto count = static_cast<int>(state.range(0));
  code.set_code(std::string(static_cast<std::size_t>(count) * 5, 'c'));
  for (int i = 0; i < count; ++i) {
    code.mutable_rows()->add_offset_delta(i ? 5 : 0);
    code.mutable_rows()->add_link_delta(i ? 0 : 2);
    code.mutable_rows()->mutable_flags()->push_back(0);
  }
  std::string bytes = message.SerializeAsString();
  for (auto _ : state) {
    auto parsed = parse(bytes);
    if (!parsed || !validate(*parsed)) state.SkipWithError("not valid");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(parse_code)->Arg(2000)->Arg(50'000);

}  // namespace
}  // namespace tailor::registration
