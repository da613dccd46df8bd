// Loading and unloading: busy while used, and no use after it is gone.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tailor/clock_page.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/kernel/guest/check.h"

namespace tailor::guest {

int load_module(const char* parameters) {
  const int fd = open("/tailor_clock.ko", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = syscall(SYS_finit_module, fd, parameters, 0) == 0 ? 0 : errno;
  close(fd);
  // The device node comes from devtmpfs a moment later.
  for (int i = 0; error == 0 && i < 1000 && access(TAILOR_CLOCK_DEVICE, F_OK) != 0; ++i) usleep(1000);
  return error;
}

int unload_module() {
  return syscall(SYS_delete_module, "tailor_clock", O_NONBLOCK) == 0 ? 0 : errno;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool write_line(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

void check_removal() {
  const int fd = open(TAILOR_CLOCK_DEVICE, O_RDONLY | O_CLOEXEC);
  check(unload_module() == EAGAIN, "rmmod while open", "busy");
  void* at = mmap(nullptr, TAILOR_CLOCK_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  check(at != MAP_FAILED && unload_module() == EAGAIN, "rmmod while mapped", "busy");
  munmap(at, TAILOR_CLOCK_PAGE_BYTES);
  check(unload_module() == 0, "rmmod", "after close and munmap");
  check(access(TAILOR_CLOCK_DEVICE, F_OK) != 0, "device", "gone with the module");
  check(load_module("") == 0, "insmod", "again");
}

void check_churn(int cycles) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned long> opened{0}, bad{0};
  const auto use = [&] {
    while (!stop) {
      int error = 0;
      const tailor_clock_page* page = tailor_clock_map(TAILOR_CLOCK_DEVICE, &error);
      if (page == nullptr) {
        if (error != ENOENT && error != ENODEV && error != ENXIO) ++bad;
        continue;
      }
      ++opened;
      unsigned long long ns = 0;
      if (!tailor_clock_tsc_to_ns(page, TAILOR_CLOCK_RAW, page->raw.cycle_last, &ns) || ns == 0) ++bad;
      munmap(const_cast<tailor_clock_page*>(page), TAILOR_CLOCK_PAGE_BYTES);
      usleep(500);  // leaves gaps in which nobody holds the module
    }
  };
  std::vector<std::thread> users;
  for (int i = 0; i < 2; ++i) users.emplace_back(use);
  int done = 0, busy = 0;
  while (done < cycles && busy < 200'000) {
    if (unload_module() != 0) {
      ++busy;
      continue;
    }
    if (load_module("") != 0) break;
    ++done;
  }
  stop = true;
  for (std::thread& user : users) user.join();
  check(done == cycles && opened > 0 && bad == 0, "load and unload against openers",
        "%d cycles, %d busy, %lu mappings, %lu bad", done, busy, opened.load(), bad.load());
}

}  // namespace tailor::guest
