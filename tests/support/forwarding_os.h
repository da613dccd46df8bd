// The operating system itself, for tests and benches that change one of its calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "daemon/os/os.h"

namespace tailor::test {

class ForwardingOs : public os::Os {
 public:
  Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                   unsigned long flags) override {
    return real_.perf_event_open(attr, pid, cpu, group, flags);
  }
  Status perf_ioctl(int fd, unsigned long request, unsigned long argument) override {
    return real_.perf_ioctl(fd, request, argument);
  }
  Result<std::uint64_t> perf_event_id(int fd) override { return real_.perf_event_id(fd); }
  Result<std::size_t> read(int fd, std::span<std::byte> into) override { return real_.read(fd, into); }
  Result<os::Mapping> map_ring(int fd, std::size_t bytes) override { return real_.map_ring(fd, bytes); }
  Result<UniqueFd> pidfd_open(pid_t pid) override { return real_.pidfd_open(pid); }
  Result<std::unique_ptr<os::Poller>> make_poller() override { return real_.make_poller(); }
  TimeNs now() override { return real_.now(); }
  std::uint64_t tsc() override { return real_.tsc(); }
  os::ClockPair read_clocks() override { return real_.read_clocks(); }
  TimeNs wall_clock() override { return real_.wall_clock(); }
  void sleep(std::chrono::nanoseconds time) override { real_.sleep(time); }
  void spin(std::chrono::nanoseconds time) override { real_.spin(time); }
  const std::filesystem::path& proc() const override { return real_.proc(); }
  const std::filesystem::path& sys() const override { return real_.sys(); }

 private:
  os::Os& real_ = os::real();
};

}  // namespace tailor::test
