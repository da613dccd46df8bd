// Operands of sampled instructions computed a second.
#include <asm/perf_regs.h>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/enrich/operand.h"

namespace tailor::enrich {
namespace {

// mov rdx, [rbx+rcx*8]; add rcx, 1; cmp rdx, rax; setne dl; a thousand times over.
void operands(benchmark::State& bench) {
  const std::vector<int> loop = {0x48, 0x8B, 0x14, 0xCB, 0x48, 0x83, 0xC1,
                                 0x01, 0x48, 0x39, 0xC2, 0x0F, 0x95, 0xC2};
  std::vector<std::byte> code;
  for (int i = 0; i < 1000; ++i) {
    for (int byte : loop) code.push_back(static_cast<std::byte>(byte));
  }
  const CodeReader reader(code);
  const std::vector<std::uint64_t> values(17, 0x1000);
  const Registers registers{0xFF01FF, values};
  std::uint32_t at = 0;
  for (auto _ : bench) {
    benchmark::DoNotOptimize(reader.operand_at(0x10000, 11 + at, registers));
    at = (at + 14 * 7) % (14 * 1000);
  }
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(operands);

}  // namespace
}  // namespace tailor::enrich
