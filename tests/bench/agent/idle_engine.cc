// An engine that registered and waits: a process of its own, of which tests/bench/footprint.py needs many.
//
//   idle_engine
//
// Ends when its standard input does.
#include <tailor/agent.h>

#include <cstdint>
#include <cstdio>

int main() {
  constexpr std::uint32_t kPatienceMs = 60'000;
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "idle";
  if (tailor_agent_start(&options) != 0 || tailor_agent_barrier(kPatienceMs) != 1) return 3;
  tailor_thread_register("idle");
  while (std::getchar() != EOF) {
  }
  return 0;
}
