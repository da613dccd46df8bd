// What is sampled: event sources, their units, and what a sample says of the CPU and of a wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tailor::profile {

// Units are never added together.
enum class Unit : std::uint8_t { kNsOnCpu = 0, kNsOffCpu = 1, kEvents = 2 };

// An event source of a recording ("cpu-clock", "cycles:P"); `index` is what events carry.
struct Source {
  std::uint16_t index = 0;
  std::string name;
  Unit unit = Unit::kNsOnCpu;
  std::uint64_t period = 0;  // nominal, in the unit
  bool precise = false;      // IP is that of the instruction which caused the event
};

// Mode of the CPU at the sample. Stored: never renumber.
enum class Mode : std::uint8_t { kUser = 0, kKernel = 1, kOther = 2 };

// Why a thread was off the CPU. Stored: never renumber.
enum class Wait : std::uint8_t {
  kNone = 0,      // it was not
  kRunnable = 1,  // in the run queue: another one was given the CPU
  kBlocked = 2,   // it waited, and nothing says what for
  kLock = 3,      // in a futex
  kIo = 4,        // for storage
  kPage = 5,      // in a page fault
  kSleep = 6,     // as long as it had asked for
  kPeer = 7,      // for what others send: sockets, pipes, poll
};
inline constexpr std::size_t kWaits = 8;

}  // namespace tailor::profile
