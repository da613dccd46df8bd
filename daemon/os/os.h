// The one seam between capture and the operating system. Everything the kernel can refuse, cut short or
// answer oddly goes through here, so that tests can make it do so.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::os {

// Owns mapped memory.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A descriptor that became ready.
struct Ready {
  std::uint64_t token = 0;
  bool hangup = false;
};

// Waits for many descriptors. wait() from one thread; the rest from any.
class Poller {
 public:
  virtual ~Poller() = default;
  virtual Status add(int fd, std::uint64_t token) = 0;
  virtual void remove(int fd) = 0;
  // At most `timeout`; empty on a timeout or a signal.
  virtual Result<std::vector<Ready>> wait(std::chrono::milliseconds timeout) = 0;
};

// Both clocks at one moment: now() was `now` somewhere between the two values of the TSC.
struct ClockPair {
  std::uint64_t tsc_before = 0, tsc_after = 0;
  TimeNs now = 0;
};

// Thread-safe. Errors carry the errno in `code` and name the call; what to do about it is for the caller,
// who knows what the call was for.
class Os {
 public:
  virtual ~Os() = default;

  virtual Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                                           unsigned long flags) = 0;
  virtual Status perf_ioctl(int fd, unsigned long request, unsigned long argument) = 0;
  // PERF_EVENT_IOC_ID.
  virtual Result<std::uint64_t> perf_event_id(int fd) = 0;
  // read() of an event's counters, as its read_format has them.
  virtual Result<std::size_t> read(int fd, std::span<std::byte> into) = 0;
  // Shared and writable: the reader of a perf ring stores its tail.
  virtual Result<Mapping> map_ring(int fd, std::size_t bytes) = 0;
  virtual Result<UniqueFd> pidfd_open(pid_t pid) = 0;
  virtual Result<std::unique_ptr<Poller>> make_poller() = 0;

  // CLOCK_MONOTONIC_RAW.
  virtual TimeNs now() = 0;
  // The TSC, not reordered with what surrounds it.
  virtual std::uint64_t tsc() = 0;
  // One reading, as close together as it gets.
  virtual ClockPair read_clocks() = 0;
  // CLOCK_REALTIME: since 1970; somebody may set it.
  virtual TimeNs wall_clock() = 0;

  // The calling thread sleeps, or works, so long. In a test nobody waits: its clock moves on.
  virtual void sleep(std::chrono::nanoseconds time) = 0;
  virtual void spin(std::chrono::nanoseconds time) = 0;

  // "/proc" and "/sys", or the temporary directories that stand for them in a test.
  virtual const std::filesystem::path& proc() const = 0;
  virtual const std::filesystem::path& sys() const = 0;
};

// The operating system itself.
Os& real();

}  // namespace tailor::os
