#include "daemon/bpf/cpu_placement.h"

#include <algorithm>

namespace tailor::bpf {
namespace {

constexpr TimeNs kLeastPatience = 40'000'000;
// Within this number of periods a timer hits a thread that is there all the time.
constexpr TimeNs kPeriods = 3;
// A CPU that is needed again so soon was left too early. Its patience doubles, up to a bound.
constexpr TimeNs kSoon = 1'000'000'000, kMostPatience = 4'000'000'000;

}  // namespace

CpuPlacement::CpuPlacement(TimeNs period)
    : least_patience_(std::max(kLeastPatience, kPeriods * period)), settle_(kPeriods * period) {}

void CpuPlacement::begin(Cpu& cpu, TimeNs now) {
  if (cpu.since == kTimeMin || now - cpu.since > kSoon) {
    cpu.patience = least_patience_;
  } else {
    cpu.patience = std::min(std::max(2 * cpu.patience, kSoon / 4), std::max(kMostPatience, least_patience_));
  }
  cpu.state = State::kOn;
  cpu.since = now;
}

CpuTask CpuPlacement::look(int number, TimeNs now, const CpuSeen& seen) {
  Cpu& cpu = cpus_.try_emplace(number, Cpu{State::kOff, kTimeMin, least_patience_, 0}).first->second;
  const bool hit = seen.hits != cpu.hits;
  cpu.hits = seen.hits;
  switch (cpu.state) {
    case State::kOff:
      if (seen.wanted) begin(cpu, now);
      break;
    case State::kOn:
      if (hit) cpu.since = now;
      if (now - cpu.since < cpu.patience) break;
      cpu.state = State::kLeaving;
      cpu.since = now;
      break;
    case State::kLeaving:
      if (hit || seen.wanted) {
        cpu.state = State::kOn;
        cpu.since = now;
      } else if (now - cpu.since >= settle_) {
        cpu.state = State::kOff;
        cpu.since = now;
      }
      break;
  }
  return {cpu.state != State::kOff, cpu.state != State::kOn};
}

std::size_t CpuPlacement::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(cpus_, [](const auto& each) { return each.second.state != State::kOff; }));
}

}  // namespace tailor::bpf
