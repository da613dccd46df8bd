// An operating system for tests: /proc and /sys are temporary directories, perf events are memory files,
// every call is written down and can be made to fail.
#pragma once

#include <linux/perf_event.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/os/os.h"

namespace tailor::test {

// A directory that is gone with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }
  // Writes a file, making the directories above it.
  void write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

class FakeOs : public os::Os {
 public:
  struct Opened {
    perf_event_attr attr;
    pid_t pid;
    int cpu;
    int fd;
    int group = -1;
    std::size_t mapped = 0;     // bytes of its ring, 0: none
    int output_to = -1;         // fd whose ring it writes to
    bool enabled = false;       // by an ioctl
    std::uint64_t counted = 0;  // what a read of it tells
    std::uint64_t lost = 0;
    std::uint64_t enabled_ns = 0, running_ns = 0;
  };

  FakeOs();

  // These return an errno, 0 to let the call succeed. Unset: all succeed.
  std::function<int(const perf_event_attr&, pid_t, int cpu)> fail_open;
  std::function<int(std::size_t bytes)> fail_map;
  std::function<int(unsigned long request)> fail_ioctl;

  void add_threads(pid_t pid, const std::vector<pid_t>& tids);
  void set_online_cpus(const std::string& list) { sys_.write("devices/system/cpu/online", list + "\n"); }

  std::vector<Opened>& opened() { return opened_; }
  Opened& by_fd(int fd);  // the last one with that descriptor

  // Plays the kernel: appends a record to the ring of `fd`; if there is no room, counts it as lost there and
  // tells of it by a LOST record as soon as there is room again.
  void write_record(int fd, std::span<const std::byte> record);

  TemporaryDirectory& proc_files() { return proc_; }
  TemporaryDirectory& sys_files() { return sys_; }
  TimeNs time = 1'000'000;
  // The TSC that we play: of 2 GHz, so no rounding comes between it and ns.
  static constexpr std::uint64_t kTicksPerNs = 2;
  static std::uint64_t tsc_at(TimeNs at) { return static_cast<std::uint64_t>(at) * kTicksPerNs; }
  TimeNs wall_time = 0;

  Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                                   unsigned long flags) override;
  Status perf_ioctl(int fd, unsigned long request, unsigned long argument) override;
  Result<std::uint64_t> perf_event_id(int fd) override;
  Result<std::size_t> read(int fd, std::span<std::byte> into) override;
  Result<os::Mapping> map_ring(int fd, std::size_t bytes) override;
  Result<UniqueFd> pidfd_open(pid_t pid) override;
  Result<std::unique_ptr<os::Poller>> make_poller() override;
  TimeNs now() override { return time; }
  std::uint64_t tsc() override { return tsc_at(now()); }
  os::ClockPair read_clocks() override {
    const TimeNs at = now();
    return {tsc_at(at), tsc_at(at), at};
  }
  TimeNs wall_clock() override { return wall_time; }
  // Nobody waits: `time` moves on.
  void sleep(std::chrono::nanoseconds duration) override { time += duration.count(); }
  void spin(std::chrono::nanoseconds duration) override { time += duration.count(); }
  const std::filesystem::path& proc() const override { return proc_.path(); }
  const std::filesystem::path& sys() const override { return sys_.path(); }

 private:
  bool put(Opened& owner, std::span<const std::byte> record);

  TemporaryDirectory proc_, sys_;
  std::vector<Opened> opened_;
  std::map<int, os::Mapping> kernel_side_;      // by fd
  std::map<int, std::uint64_t> untold_losses_;  // by fd of the ring's owner
};

}  // namespace tailor::test
