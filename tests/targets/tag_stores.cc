// An engine that leaves out its tags where the daemon wants that, and whose tags cost what is asked for:
// executions of a millisecond or more of arithmetic, and with tags a share of it in addition.
//
//   tag_stores EXECUTIONS PERCENT
#include <tailor/agent.h>

#include <cstdint>
#include <cstdlib>

#include "tests/support/known_engine.h"

namespace {

constexpr std::uint64_t kTurns = 600'000;

[[gnu::noinline]] std::uint64_t work(std::uint64_t turns) {
  std::uint64_t x = turns;
  for (std::uint64_t i = 0; i < turns; ++i) x = x * 6364136223846793005 + 1442695040888963407;
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long executions = std::atol(argv[1]);
  const std::uint64_t cost = kTurns * std::strtoull(argv[2], nullptr, 10) / 100;
  const tailor_plan_ids plan = tailor::test::start_known_engine("tag_stores", TAILOR_TAGS_R15);
  std::uint64_t sink = 0;
  for (long i = 0; i < executions; ++i) {
    const std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
    const bool tags = tailor_execution_tag_strategy(execution) != TAILOR_TAGS_NONE;
    tailor_mark_execution_begin(execution, plan.id);
    sink += work(kTurns) + (tags ? work(cost) : 0);
    tailor_mark_execution_end(execution);
    tailor_execution_end(execution, 0, nullptr);
  }
  tailor_agent_stop(2000);
  return sink == 1 ? 1 : 0;
}
