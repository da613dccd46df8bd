// Identities that cross the borders of folders.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>

namespace tailor {

// Nanoseconds of the host's CLOCK_MONOTONIC_RAW: the one time base inside Tailor.
using TimeNs = std::int64_t;
inline constexpr TimeNs kTimeMin = INT64_MIN;
inline constexpr TimeNs kTimeMax = INT64_MAX;

// A process is {pid, start time}: the pid alone is reused. `pid` is in the daemon's pid namespace,
// `start` is field 22 of /proc/PID/stat (clock ticks since boot).
struct ProcessId {
  std::int32_t pid = 0;
  std::uint64_t start = 0;
  auto operator<=>(const ProcessId&) const = default;
};

// One run of one query: 128 bits, made by the agent, unique across hosts.
struct ExecutionId {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const ExecutionId&) const = default;
};

// Plans, code objects and executions are numbered by the engine's agent, unique within a process, never 0.
using PlanId = std::uint64_t;
using CodeId = std::uint64_t;
using ExecutionHandle = std::uint64_t;

// A component is (level, id): levels count from 0 at the top, ids are dense from 1 within a level of a plan.
using LevelIndex = std::uint32_t;
using ComponentId = std::uint32_t;
inline constexpr ComponentId kNoComponent = 0;

}  // namespace tailor

template <>
struct std::hash<tailor::ProcessId> {
  std::size_t operator()(const tailor::ProcessId& p) const noexcept {
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(p.pid) << 40) ^ p.start);
  }
};
