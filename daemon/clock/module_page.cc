#include "daemon/clock/module_page.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "proto/base/errors.h"

namespace tailor::clock {
namespace {

const char* remedy(int code) {
  switch (code) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
      return "the module tailor_clock is not loaded (modprobe tailor_clock)";
    case EACCES:
    case EPERM:
      return "not readable for this user (udev rule 60-tailor-clock.rules, group tailor)";
    case EPROTO:
      return "the module's page has a layout this program does not know: install matching versions";
    default:
      return std::strerror(code);
  }
}

}  // namespace

Result<ModulePage> ModulePage::open(const std::string& device) {
  int error = 0;
  const tailor_clock_page* page = tailor_clock_map(device.c_str(), &error);
  if (page == nullptr) return os_error(fmt::format("{}: {}", device, remedy(error)), error);
  return ModulePage(page);
}

ModulePage::ModulePage(ModulePage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

ModulePage& ModulePage::operator=(ModulePage&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

ModulePage::~ModulePage() {
  if (page_ != nullptr) munmap(const_cast<tailor_clock_page*>(page_), TAILOR_CLOCK_PAGE_BYTES);
}

std::optional<ModuleTime> ModulePage::read() const {
  // A page that is written without end would be a broken module: some tries, then nothing.
  for (int i = 0; i < 1000; ++i) {
    const __u32 seq = tailor_clock_read_begin(page_);
    if (seq & 1) return std::nullopt;
    const __u32 flags = TAILOR_CLOCK_LOAD(page_->flags);
    ModuleTime time{.cycle_last = TAILOR_CLOCK_LOAD(page_->raw.cycle_last),
                    .mult = TAILOR_CLOCK_LOAD(page_->raw.mult),
                    .shift = TAILOR_CLOCK_LOAD(page_->raw.shift),
                    .base_ns = static_cast<TimeNs>(TAILOR_CLOCK_LOAD(page_->raw.base_ns)),
                    .remainder = TAILOR_CLOCK_LOAD(page_->raw.remainder),
                    .uncertainty_ns = TAILOR_CLOCK_LOAD(page_->uncertainty_ns),
                    .perf_tsc = TAILOR_CLOCK_LOAD(page_->perf_tsc),
                    .perf_ns = TAILOR_CLOCK_LOAD(page_->perf_ns),
                    .perf_ticks = TAILOR_CLOCK_LOAD(page_->perf_ticks)};
    if (tailor_clock_read_retry(page_, seq)) continue;
    if (!(flags & TAILOR_CLOCK_VALID)) return std::nullopt;
    if (!(flags & TAILOR_CLOCK_PERF)) time.perf_tsc = 0;
    return time;
  }
  return std::nullopt;
}

}  // namespace tailor::clock
