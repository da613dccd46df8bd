// Regions of memory that come and go a hundred thousand times a second: generated code reads a place while it
// is a region of kind 1, three times as long while it is one of kind 2, then the next place.
//
//   moving_regions SECONDS FILE [wrong]
//
// Writes the number of its changes to FILE.
// `wrong`: the kinds are told the wrong way round.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/known_engine.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPlaces = 256, kStride = 4096, kBytes = 64;
// Four changes take 32 us, where nobody else runs: 125,000 a second.
constexpr auto kUnit = std::chrono::microseconds(8);

// 1: mov rax, [rdi], sixteen times; dec rsi; jnz 1b; ret
// Some CPUs are interrupted at the begin of a short loop only, where no access comes before. In this one most
// places have an access before them.
constexpr std::size_t kReads = 16;
constexpr std::array<std::uint8_t, 3> kReadCode = {0x48, 0x8b, 0x07};
constexpr std::array<std::uint8_t, kReads * kReadCode.size() + 6> kCode = [] {
  std::array<std::uint8_t, kReads * kReadCode.size() + 6> code{};
  auto at = code.begin();
  for (std::size_t i = 0; i < kReads; ++i) at = std::copy(kReadCode.begin(), kReadCode.end(), at);
  constexpr std::uint8_t kBack = 256 - (kReads * kReadCode.size() + 5);
  for (std::uint8_t byte : {0x48, 0xff, 0xce, 0x75, int{kBack}, 0xc3}) *at++ = byte;
  return code;
}();
using Read = void (*)(const char* place, std::uint64_t times);

Read generate(std::uint64_t plan) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  std::memcpy(memory, kCode.data(), kCode.size());
  const std::uint64_t id = tailor_code_new();
  tailor::v1::CodeObject code = tailor::test::small_code(id, plan, reinterpret_cast<std::uint64_t>(memory),
                                                         kCode.size(), {{0, 1 << 1}});
  code.set_code(std::string(kCode.begin(), kCode.end()));
  const std::string bytes = code.SerializeAsString();
  tailor_code_load(id, bytes.data(), bytes.size());
  return reinterpret_cast<Read>(memory);
}

// Reads that take kUnit, by the fastest of several tries.
std::uint64_t times_of_a_unit(Read read, const char* place) {
  constexpr std::uint64_t kTried = 10'000;
  Clock::duration least = Clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    read(place, kTried);
    least = std::min(least, Clock::now() - start);
  }
  return std::max<std::uint64_t>(1, kTried * kUnit / least);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const bool wrong = argc == 4;
  const tailor_plan_ids plan = tailor::test::start_known_engine("moving_regions");
  const Read read = generate(plan.id);
  static char places[kPlaces * kStride];
  std::memset(places, 1, sizeof places);
  const std::uint64_t unit = times_of_a_unit(read, places);
  std::array<std::uint32_t, 2> kinds;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string name = "kind " + std::to_string(i + 1);
    tailor_region_kind kind{};
    kind.size = sizeof(kind);
    kind.name = name.c_str();
    kind.role = TAILOR_REGION_CHUNK;
    kinds[i] = tailor_region_kind_declare(&kind);
  }
  const std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
  tailor_mark_execution_begin(execution, plan.id);
  const auto end = Clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::uint64_t changes = 0;
  for (std::size_t round = 0; Clock::now() < end; ++round) {
    const char* place = places + round % kPlaces * kStride;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::uint32_t kind = kinds[wrong ? 1 - i : i];
      tailor_region_add(kind, place, kBytes);
      read(place, i == 0 ? unit : 3 * unit);
      tailor_region_remove(place);
      changes += 2;
    }
  }
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 0, nullptr);
  tailor_agent_stop(2000);
  std::FILE* file = std::fopen(argv[2], "w");
  return file == nullptr || std::fprintf(file, "%lu\n", changes) < 0 || std::fclose(file) != 0;
}
