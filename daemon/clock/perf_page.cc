#include "daemon/clock/perf_page.h"

#include <unistd.h>

#include <atomic>

namespace tailor::clock {

Result<PerfPage> PerfPage::open(os::Os& os) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  auto event = os.perf_event_open(attr, 0, -1, -1, 0);
  if (!event) return event.error();
  auto page = os.map_ring(event->get(), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  if (!page) return page.error();
  return PerfPage(os, std::move(*event), std::move(*page));
}

std::optional<PerfPageTime> PerfPage::read() {
  // A reset of the (never moving) counter makes the kernel renew the page.
  if (!os_->perf_ioctl(event_.get(), PERF_EVENT_IOC_RESET, 0)) return std::nullopt;
  return read_perf_page(*reinterpret_cast<const volatile perf_event_mmap_page*>(page_.data()));
}

// The protocol of perf_event.h: `lock` is a sequence count.
std::optional<PerfPageTime> read_perf_page(const volatile perf_event_mmap_page& page) {
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t lock = page.lock;
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool known = page.cap_user_time && page.cap_user_time_zero;
    const PerfPageTime time{.mult = page.time_mult, .shift = page.time_shift, .zero = page.time_zero};
    std::atomic_thread_fence(std::memory_order_acquire);
    if ((lock & 1) || page.lock != lock) continue;
    return known ? std::optional(time) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tailor::clock
