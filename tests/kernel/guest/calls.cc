// The device's calls and attributes: what is refused, and how.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <tailor/clock_page.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/kernel/guest/check.h"

namespace tailor::guest {
namespace {

void expect_errno(const char* name, bool failed, int want) {
  const int got = errno;
  check(failed && got == want, name, "wanted %s, got %s", strerror(want), failed ? strerror(got) : "success");
}

void refused_mappings(int fd) {
  const auto map = [fd](std::size_t size, int protection, int flags, off_t offset) {
    errno = 0;
    void* at = mmap(nullptr, size, protection, flags, fd, offset);
    if (at != MAP_FAILED) munmap(at, size);
    return at == MAP_FAILED;
  };
  expect_errno("mmap of two pages", map(8192, PROT_READ, MAP_SHARED, 0), EINVAL);
  expect_errno("mmap at an offset", map(4096, PROT_READ, MAP_SHARED, 4096), EINVAL);
  expect_errno("writable private mmap", map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0), EPERM);
  expect_errno("private mmap", map(4096, PROT_READ, MAP_PRIVATE, 0), EPERM);
  expect_errno("writable shared mmap of a read-only descriptor",
               map(4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0), EACCES);
  void* at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  check(at != MAP_FAILED, "shared read-only mmap", "%p", at);
  expect_errno("mprotect to writable", mprotect(at, 4096, PROT_READ | PROT_WRITE) != 0, EACCES);
  munmap(at, 4096);
}

void refused_writers() {
  const int fd = open(TAILOR_CLOCK_DEVICE, O_RDWR | O_CLOEXEC);
  if (!check(fd >= 0, "open for writing by root", "descriptor %d", fd)) return;
  errno = 0;
  expect_errno("writable shared mmap",
               mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED, EPERM);
  expect_errno("mmap that could become writable",
               mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, EPERM);
  expect_errno("write", write(fd, "x", 1) < 0, EINVAL);
  char byte;
  expect_errno("read", read(fd, &byte, 1) < 0, EINVAL);
  close(fd);
}

void snapshots(int fd) {
  tailor_clock_snapshot s{};
  expect_errno("unknown ioctl", ioctl(fd, _IO('T', 0xC9)) != 0, ENOTTY);
  expect_errno("ioctl with size 0", ioctl(fd, TAILOR_CLOCK_SNAPSHOT, &s) != 0, EINVAL);
  s.size = sizeof(s) + 8;
  expect_errno("ioctl with a larger size", ioctl(fd, TAILOR_CLOCK_SNAPSHOT, &s) != 0, EINVAL);
  s.size = sizeof(s);
  s.flags = 1;
  expect_errno("ioctl with flags", ioctl(fd, TAILOR_CLOCK_SNAPSHOT, &s) != 0, EINVAL);
  expect_errno("ioctl with NULL", ioctl(fd, TAILOR_CLOCK_SNAPSHOT, nullptr) != 0, EFAULT);
  expect_errno("ioctl with a kernel pointer", ioctl(fd, TAILOR_CLOCK_SNAPSHOT, ~0xFFFul) != 0, EFAULT);

  int error = 0;
  const tailor_clock_page* page = tailor_clock_map(TAILOR_CLOCK_DEVICE, &error);
  if (!check(page != nullptr, "map", "errno %d", error)) return;
  for (int i = 0; i < 1000; ++i) {
    s = {};
    s.size = sizeof(s);
    if (ioctl(fd, TAILOR_CLOCK_SNAPSHOT, &s) != 0) {
      check(false, "snapshot", "%s", strerror(errno));
      break;
    }
    unsigned long long raw = 0, mono = 0;
    const bool valid = (s.flags & TAILOR_CLOCK_VALID) && s.tsc_before <= s.tsc && s.tsc <= s.tsc_after &&
                       s.tsc_after <= s.tsc_perf;
    const bool converted = tailor_clock_tsc_to_ns(page, TAILOR_CLOCK_RAW, s.tsc, &raw) &&
                           tailor_clock_tsc_to_ns(page, TAILOR_CLOCK_MONO, s.tsc, &mono);
    const auto off_raw = static_cast<long long>(raw - s.raw),
               off_mono = static_cast<long long>(mono - s.mono);
    if (!valid || !converted || off_raw < -5 || off_raw > 5 || off_mono < -100 || off_mono > 100) {
      check(false, "snapshot", "valid %d converted %d raw off %lld mono off %lld", valid, converted, off_raw,
            off_mono);
      break;
    }
    if (i == 999) check(true, "snapshot", "1000 agree with the page to 5 ns");
  }
  munmap(const_cast<tailor_clock_page*>(page), TAILOR_CLOCK_PAGE_BYTES);
}

}  // namespace

void check_calls() {
  const int fd = open(TAILOR_CLOCK_DEVICE, O_RDONLY | O_CLOEXEC);
  if (!check(fd >= 0, "open", "descriptor %d", fd)) return;
  refused_mappings(fd);
  snapshots(fd);
  close(fd);
  refused_writers();
}

void check_attributes() {
  const std::string folder = "/sys/class/misc/tailor_clock/";
  check(first_line(folder + "valid") == "1", "attribute valid", "%s", first_line(folder + "valid").c_str());
  check(first_line(folder + "clocksource").starts_with("tsc"), "attribute clocksource", "%s",
        first_line(folder + "clocksource").c_str());
  check(first_line(folder + "layout_version") == std::to_string(TAILOR_CLOCK_VERSION), "attribute version",
        "%s", first_line(folder + "layout_version").c_str());
  const long khz = atol(first_line(folder + "tsc_khz").c_str());
  check(khz > 100'000, "attribute tsc_khz", "%ld", khz);
  const std::string offered = "/sys/devices/system/cpu/cpu0/tsc_freq_khz";
  check(first_line(offered).empty(), "tsc_freq_khz", "not there unless asked for");
  check(unload_module() == 0 && load_module("tsc_freq_khz=1") == 0, "reload", "with tsc_freq_khz=1");
  check(atol(first_line(offered).c_str()) == khz, "tsc_freq_khz", "%s", first_line(offered).c_str());
  check(unload_module() == 0 && first_line(offered).empty(), "tsc_freq_khz", "gone with the module");
  check(load_module("") == 0, "reload", "without parameters");
}

}  // namespace tailor::guest
