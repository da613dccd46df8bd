#include "daemon/capture/host/sample_cost.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/host/denial.h"
#include "daemon/capture/host/older_kernels.h"
#include "daemon/capture/host/ring.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kTrialPeriod = 99'991;  // ns, a prime
constexpr std::size_t kRingBytes = std::size_t{64} << 10;
constexpr int kSteps = 2'000'000;

// A chain that no compiler shortens: some 3 ms.
std::uint64_t work() {
  std::uint64_t value = 1;
  for (int i = 0; i < kSteps; ++i) {
    value = value * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(value));
  }
  return value;
}

std::uint64_t thread_cpu_ns() {
  timespec ts{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
}

std::uint64_t samples_in(std::span<const std::byte> bytes) {
  std::uint64_t samples = 0;
  while (bytes.size() >= sizeof(perf_event_header)) {
    ByteCursor cursor(bytes);
    const std::uint32_t type = cursor.u32();
    cursor.u16();
    const std::size_t size = cursor.u16();
    if (size < sizeof(perf_event_header) || size > bytes.size()) break;
    samples += type == PERF_RECORD_SAMPLE;
    bytes = bytes.subspan(size);
  }
  return samples;
}

}  // namespace

Result<double> sample_cost(const Trial& trial, int pairs) {
  std::vector<double> costs;
  for (int pair = 0; pair < pairs; ++pair) {
    TrialSlice slices[2];  // without, with
    for (int turn = 0; turn < 2; ++turn) {
      const bool sampled = (turn + pair) % 2 != 0;
      auto slice = trial(sampled);
      if (!slice) return slice.error();
      slices[sampled] = *slice;
    }
    if (slices[1].samples == 0) continue;
    const double more = static_cast<double>(slices[1].cpu_ns) - static_cast<double>(slices[0].cpu_ns);
    costs.push_back(more / static_cast<double>(slices[1].samples));
  }
  if (costs.empty())
    return unavailable("the cost of a sample is not known: no sample was taken in the trial");
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end());
  return std::max(*middle, 0.0);
}

Result<double> measure_sample_cost(os::Os& os, const EventSpec& spec, const CaptureOptions& options,
                                   int pairs) {
  EventSpec trial_spec = spec;
  if (spec.unit == profile::Unit::kNsOnCpu) trial_spec.period = kTrialPeriod;
  CaptureOptions trial_options = options;
  trial_options.ring_bytes = kRingBytes;
  trial_options.start_disabled = true;
  trial_options.enable_on_exec = false;
  perf_event_attr attr = make_attr(trial_spec, false, trial_options, true);
  attr.inherit = attr.inherit_thread = 0;
  auto fd = os.perf_event_open(attr, 0, -1, -1, 0);
  while (!fd && fd.error().code == EINVAL && !give_up_newest(attr).empty()) {
    fd = os.perf_event_open(attr, 0, -1, -1, 0);
  }
  if (!fd) return explain_open(os, fd.error(), attr, 0);
  auto memory = os.map_ring(fd->get(), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + kRingBytes);
  if (!memory) return explain_map(os, memory.error(), kRingBytes);
  auto ring = Ring::over({memory->data(), memory->size()});
  if (!ring) return ring.error();
  std::vector<std::byte> bytes;
  return sample_cost(
      [&](bool sampled) -> Result<TrialSlice> {
        if (sampled) {
          Status on = os.perf_ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0);
          if (!on) return on.error();
        }
        const std::uint64_t began = thread_cpu_ns();
        work();
        const std::uint64_t ended = thread_cpu_ns();
        if (sampled) {
          Status off = os.perf_ioctl(fd->get(), PERF_EVENT_IOC_DISABLE, 0);
          if (!off) return off.error();
        }
        bytes.clear();
        ring->drain(bytes);
        return TrialSlice{ended - began, samples_in(bytes)};
      },
      pairs);
}

}  // namespace tailor::capture
