#include "daemon/tailord/exit_deadline.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tailor::tailord {

ExitDeadline::ExitDeadline(int asked, std::chrono::milliseconds patience)
    : done_(::eventfd(0, EFD_CLOEXEC)), thread_([this, asked, patience] { watch(asked, patience); }) {}

ExitDeadline::~ExitDeadline() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(done_.get(), &one, sizeof one);
  thread_.join();
}

void ExitDeadline::watch(int asked, std::chrono::milliseconds patience) const {
  pollfd either[] = {{done_.get(), POLLIN, 0}, {asked, POLLIN, 0}};
  while (::poll(either, 2, -1) < 0) {
  }
  if (either[0].revents != 0) return;
  pollfd done{done_.get(), POLLIN, 0};
  if (::poll(&done, 1, static_cast<int>(patience.count())) != 0) return;
  spdlog::error("not everything could be written down within {} ms of the signal: ending now",
                patience.count());
  spdlog::default_logger()->flush();
  ::_exit(1);
}

}  // namespace tailor::tailord
