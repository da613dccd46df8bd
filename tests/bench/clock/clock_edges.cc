// End to end: do samples fall on the right side of an edge? A thread runs two functions in turn and logs
// rdtsc at each change; timer samples of it carry a time and an instruction pointer. The time, taken through
// the clock model, names a function by the log; the instruction pointer names the one that really ran.
//   clock_edges [DISTANCE_US] [SECONDS] [HERTZ] [FALSIFY_NS]
// Prints the share of samples on the wrong side by their distance to the nearest edge. FALSIFY_NS is added to
// every sample's time: the check must then find wrong ones.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "daemon/clock/host_clock.h"
#include "daemon/clock/model.h"
#include "daemon/os/host_time.h"

namespace tailor::clock {
namespace {

struct Sample {
  std::uint64_t ip;
  TimeNs time;
};

// The two phases, each spinning until a TSC value: the same work at different addresses.
[[gnu::noinline, gnu::section("edge_phase_a")]] void phase_a(std::uint64_t until) {
  while (__builtin_ia32_rdtsc() < until) asm volatile("");
}
[[gnu::noinline, gnu::section("edge_phase_b")]] void phase_b(std::uint64_t until) {
  while (__builtin_ia32_rdtsc() < until) asm volatile("");
}
extern "C" const char __start_edge_phase_a[], __stop_edge_phase_a[], __start_edge_phase_b[],
    __stop_edge_phase_b[];

// 0 or 1; -1 where the thread was in neither.
int phase_of(std::uint64_t ip) {
  const auto within = [ip](const char* start, const char* stop) {
    return ip >= reinterpret_cast<std::uint64_t>(start) && ip < reinterpret_cast<std::uint64_t>(stop);
  };
  if (within(__start_edge_phase_a, __stop_edge_phase_a)) return 0;
  return within(__start_edge_phase_b, __stop_edge_phase_b) ? 1 : -1;
}

// A cpu-clock event on ourselves with its ring.
class Sampler {
 public:
  static Result<Sampler> open(os::Os& os, std::uint64_t hertz) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = 1'000'000'000 / hertz;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
    attr.exclude_kernel = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC_RAW;
    auto fd = os.perf_event_open(attr, 0, -1, -1, 0);
    if (!fd) return fd.error();
    auto ring = os.map_ring(fd->get(), kBytes + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    if (!ring) return ring.error();
    return Sampler(std::move(*fd), std::move(*ring));
  }

  void drain(std::vector<Sample>& out) {
    auto* page = reinterpret_cast<perf_event_mmap_page*>(ring_.data());
    const std::byte* data = ring_.data() + page->data_offset;
    const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = page->data_tail;
    while (tail < head) {
      std::array<std::byte, 64> record{};
      const auto at = [&](std::uint64_t i) { return data[(tail + i) % kBytes]; };
      for (std::size_t i = 0; i < sizeof(perf_event_header); ++i) record[i] = at(i);
      perf_event_header header;
      std::memcpy(&header, record.data(), sizeof(header));
      for (std::size_t i = 0; i < std::min<std::size_t>(header.size, record.size()); ++i) record[i] = at(i);
      if (header.type == PERF_RECORD_SAMPLE) {
        Sample sample;
        std::memcpy(&sample.ip, record.data() + sizeof(header), 8);
        std::memcpy(&sample.time, record.data() + sizeof(header) + 8, 8);
        out.push_back(sample);
      }
      tail += header.size;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
  }

 private:
  static constexpr std::size_t kBytes = 1 << 17;
  Sampler(UniqueFd fd, os::Mapping ring) : fd_(std::move(fd)), ring_(std::move(ring)) {}
  UniqueFd fd_;
  os::Mapping ring_;
};

struct Bucket {
  std::uint64_t upto_ns, right = 0, wrong = 0;
};

void report(const std::vector<Sample>& samples, const std::vector<std::uint64_t>& edges,
            const Timeline& clock) {
  std::vector<Bucket> buckets;
  for (std::uint64_t ns : {250, 500, 1000, 2000, 5000, 20'000, 1'000'000'000}) buckets.push_back({ns});
  std::uint64_t elsewhere = 0;
  for (const Sample& s : samples) {
    const int really = phase_of(s.ip);
    const auto next = std::upper_bound(edges.begin(), edges.end(), clock.to_tsc(s.time));
    if (really < 0 || next == edges.begin() || next == edges.end()) {
      ++elsewhere;
      continue;
    }
    // Edge i begins phase i % 2.
    const auto logged = static_cast<int>((next - edges.begin() - 1) % 2);
    const TimeNs distance = std::min(s.time - clock.to_ns(*(next - 1)), clock.to_ns(*next) - s.time);
    for (Bucket& b : buckets) {
      if (distance > static_cast<TimeNs>(b.upto_ns)) continue;
      ++(logged == really ? b.right : b.wrong);
      break;
    }
  }
  for (const Bucket& b : buckets) {
    const std::uint64_t n = b.right + b.wrong;
    fmt::print("distance <= {:>10} ns: {:>7} samples, {:>6} wrong ({:.2f} %)\n", b.upto_ns, n, b.wrong,
               n ? 100.0 * static_cast<double>(b.wrong) / static_cast<double>(n) : 0.0);
  }
  fmt::print("between the phases, before the first or after the last edge: {}\n", elsewhere);
}

int run(double distance_us, double seconds, std::uint64_t hertz, TimeNs falsify_ns) {
  os::Os& os = os::real();
  auto sampler = Sampler::open(os, hertz);
  if (!sampler) {
    fmt::print(stderr, "clock_edges: {}\n", sampler.error().message);
    return 1;
  }
  HostClock host(os);
  Model model;
  std::vector<Sample> samples;
  std::vector<std::uint64_t> edges;
  std::uint64_t next_observation = 0;
  std::minstd_rand random;
  const TimeNs end = os::read_raw_ns() + static_cast<TimeNs>(seconds * 1e9);
  while (os::read_raw_ns() < end || !model.ready()) {
    if (os::read_tsc() >= next_observation) {
      (void)model.observe(host.observe());
      if (!model.ready()) continue;
      next_observation = model.to_tsc(os::read_raw_ns() + static_cast<TimeNs>(model.next_observation_ns()));
    }
    const TimeNs now = os::read_raw_ns();
    const std::uint64_t ticks =
        model.to_tsc(now + static_cast<TimeNs>(distance_us * 1000)) - model.to_tsc(now);
    for (int i = 0; i < 100; ++i) {
      // Between half and one and a half times the distance, lest the timer walk in step with the edges.
      const std::uint64_t length = ticks / 2 + random() % (ticks + 1);
      edges.push_back(__builtin_ia32_rdtsc());
      (edges.size() % 2 ? phase_a : phase_b)(edges.back() + length);
    }
    sampler->drain(samples);
  }
  for (Sample& s : samples) s.time += falsify_ns;
  fmt::print("edges every {} us on average, {} edges, {} samples at {} Hz, clock source {} (bound {} ns)\n",
             distance_us, edges.size(), samples.size(), hertz, name(model.source()), model.error_bound_ns());
  report(samples, edges, model.timeline());
  return 0;
}

}  // namespace
}  // namespace tailor::clock

int main(int argc, char** argv) {
  return tailor::clock::run(argc > 1 ? std::atof(argv[1]) : 20, argc > 2 ? std::atof(argv[2]) : 5,
                            argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 4999,
                            argc > 4 ? std::atol(argv[4]) : 0);
}
