#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <x86intrin.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "daemon/os/host_time.h"
#include "daemon/os/os.h"
#include "proto/base/errors.h"

namespace tailor::os {

std::uint64_t read_tsc() {
  _mm_lfence();
  const std::uint64_t tsc = __rdtsc();
  _mm_lfence();
  return tsc;
}

TimeNs read_raw_ns() {
  timespec ts{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return static_cast<TimeNs>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

namespace {

Error errno_error(const char* call) {
  int code = errno;
  return os_error(fmt::format("{}: {}", call, std::strerror(code)), code);
}

class RealPoller : public Poller {
 public:
  explicit RealPoller(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  Status add(int fd, std::uint64_t token) override {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = token;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return errno_error("epoll_ctl");
    return Ok{};
  }

  void remove(int fd) override { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  Result<std::vector<Ready>> wait(std::chrono::milliseconds timeout) override {
    epoll_event events[64];
    int count = ::epoll_wait(epoll_.get(), events, 64, static_cast<int>(timeout.count()));
    if (count < 0 && errno != EINTR) return errno_error("epoll_wait");
    std::vector<Ready> ready;
    for (int i = 0; i < count; ++i) {
      ready.push_back({events[i].data.u64, (events[i].events & (EPOLLHUP | EPOLLERR)) != 0});
    }
    return ready;
  }

 private:
  UniqueFd epoll_;
};

class RealOs : public Os {
 public:
  Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                                   unsigned long flags) override {
    const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return errno_error("perf_event_open");
    return UniqueFd(static_cast<int>(fd));
  }

  Status perf_ioctl(int fd, unsigned long request, unsigned long argument) override {
    if (::ioctl(fd, request, argument) != 0) return errno_error("ioctl on a perf event");
    return Ok{};
  }

  Result<std::uint64_t> perf_event_id(int fd) override {
    std::uint64_t id = 0;
    if (::ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0) return errno_error("PERF_EVENT_IOC_ID");
    return id;
  }

  Result<std::size_t> read(int fd, std::span<std::byte> into) override {
    ssize_t count = ::read(fd, into.data(), into.size());
    if (count < 0) return errno_error("read of a perf event");
    return static_cast<std::size_t>(count);
  }

  Result<Mapping> map_ring(int fd, std::size_t bytes) override {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) return errno_error("mmap of a perf ring");
    return Mapping(static_cast<std::byte*>(data), bytes);
  }

  Result<UniqueFd> pidfd_open(pid_t pid) override {
    long fd = ::syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return errno_error("pidfd_open");
    return UniqueFd(static_cast<int>(fd));
  }

  Result<std::unique_ptr<Poller>> make_poller() override {
    UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return errno_error("epoll_create1");
    return std::unique_ptr<Poller>(std::make_unique<RealPoller>(std::move(epoll)));
  }

  TimeNs now() override { return read_raw_ns(); }
  std::uint64_t tsc() override { return read_tsc(); }
  ClockPair read_clocks() override {
    ClockPair pair;
    pair.tsc_before = read_tsc();
    pair.now = read_raw_ns();
    pair.tsc_after = read_tsc();
    return pair;
  }

  TimeNs wall_clock() override {
    timespec ts{};
    ::clock_gettime(CLOCK_REALTIME, &ts);
    return static_cast<TimeNs>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
  }

  void sleep(std::chrono::nanoseconds time) override { std::this_thread::sleep_for(time); }
  void spin(std::chrono::nanoseconds time) override {
    const TimeNs end = read_raw_ns() + time.count();
    while (read_raw_ns() < end) {
    }
  }

  const std::filesystem::path& proc() const override { return proc_; }
  const std::filesystem::path& sys() const override { return sys_; }

 private:
  std::filesystem::path proc_ = "/proc";
  std::filesystem::path sys_ = "/sys";
};

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Os& real() {
  static RealOs os;
  return os;
}

}  // namespace tailor::os
