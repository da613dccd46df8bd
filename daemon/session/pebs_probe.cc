#include "daemon/session/pebs_probe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/host/ring.h"

namespace tailor::session {
namespace {

constexpr std::uint64_t kPeriod = 20'011;  // cycles; a prime
constexpr std::size_t kRingBytes = std::size_t{128} << 10;
constexpr std::chrono::milliseconds kDuration{20};

perf_event_attr probe_attr() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = PERF_COUNT_HW_CPU_CYCLES;
  attr.sample_period = kPeriod;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.precise_ip = 2;
  attr.exclude_kernel = attr.exclude_hv = 1;
  attr.disabled = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = kRingBytes / 2;
  return attr;
}

Result<std::vector<TimeNs>> decode_times(const perf_event_attr& attr, std::span<const std::byte> bytes) {
  capture::RingLayout layout;
  layout.clock = capture::RecordClock::kPerf;
  capture::EventFormat format;
  format.sample_type = attr.sample_type;
  format.sample_id_all = false;
  format.period = kPeriod;
  layout.formats.push_back(format);
  auto decoder = capture::RecordDecoder::create(layout);
  if (!decoder) return decoder.error();
  capture::Batch batch;
  decoder->decode(bytes, batch);
  std::vector<TimeNs> times;
  for (const capture::Event& event : batch.events) {
    if (event.kind == capture::Kind::kSample) times.push_back(event.time);
  }
  return times;
}

}  // namespace

Result<clock::RecordTimes> probe_pebs_times(os::Os& os) {
  perf_event_attr attr = probe_attr();
  auto fd = os.perf_event_open(attr, 0, -1, -1, 0);
  if (!fd) return fd.error();
  auto memory = os.map_ring(fd->get(), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + kRingBytes);
  if (!memory) return memory.error();
  auto ring = capture::Ring::over({memory->data(), memory->size()});
  if (!ring) return ring.error();
  Status on = os.perf_ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0);
  if (!on) return on.error();
  os.spin(kDuration);
  // Also makes the hardware's buffer drain.
  Status off = os.perf_ioctl(fd->get(), PERF_EVENT_IOC_DISABLE, 0);
  if (!off) return off.error();
  std::vector<std::byte> bytes;
  ring->drain(bytes);
  auto times = decode_times(attr, bytes);
  if (!times) return times.error();
  clock::DrainTimeDetector detector(clock::shortest_period_ns(kPeriod));
  detector.add(*times);
  return detector.verdict();
}

bool uses_large_pebs(const capture::CaptureOptions& options) {
  return options.large_pebs && std::ranges::any_of(options.events, [](const auto& spec) {
           return spec.mechanism == capture::Mechanism::kPebs;
         });
}

std::string settle_large_pebs(capture::CaptureOptions& options, bool perf_clock_known,
                              const std::function<Result<clock::RecordTimes>()>& probe) {
  if (!uses_large_pebs(options)) return {};
  std::string why;
  if (!perf_clock_known) {
    why = "perf's own clock cannot be converted on this host";
  } else {
    const auto times = probe();
    if (times && *times == clock::RecordTimes::kOwn) return {};
    why = !times ? "no trial was possible: " + times.error().message
          : *times == clock::RecordTimes::kDrain
              ? "this kernel gives the records the time of the buffer's drain"
              : "a trial gave no verdict on the times of records";
  }
  options.large_pebs = false;
  return "an interrupt per PEBS sample (" + why + ")";
}

}  // namespace tailor::session
