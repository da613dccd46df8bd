// tailord: the daemon.
#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string>

#include "daemon/os/os.h"
#include "daemon/serve/error_json.h"
#include "daemon/session/host_info.h"
#include "daemon/tailord/command_line.h"
#include "daemon/tailord/daemon.h"
#include "daemon/tailord/exit_deadline.h"
#include "daemon/tailord/log.h"
#include "daemon/tailord/notify.h"
#include "daemon/tailord/rights.h"
#include "proto/base/unique_fd.h"

namespace tailor::tailord {
namespace {

// From the signal to the end, with something to spare below the five seconds that are promised.
constexpr std::chrono::milliseconds kPatience{4500};

// Blocked before the first thread starts, so that every thread leaves them to this descriptor.
UniqueFd blocked_signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : signals) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Each process that registers takes some. The kernel's table of them grows by doubling. Where a process has
// threads, it waits until none of them looks into the old table: 10 to 20 ms each time, for all that are
// served. So the table is made large while there is one thread.
void make_room_for_descriptors(int any) {
  constexpr rlim_t kMany = 65536;  // half a megabyte
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  (void)UniqueFd(::fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(std::min(limit.rlim_cur, kMany) - 1)));
}

int run(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (parsed.finished) return parsed.exit_code;
  start_logging(parsed.options.log_level, logs_to_journal());
  // Nothing that is made here is open to everybody, whatever the umask was; what must be says so itself.
  ::umask(::umask(S_IRWXO) | S_IWGRP | S_IRWXO);
  const UniqueFd stop = blocked_signals({SIGTERM, SIGINT});
  const UniqueFd reload = blocked_signals({SIGHUP});
  make_room_for_descriptors(stop.get());
  // A thread begins with what this one has then.
  const RightsNews rights = give_up_rights(os::real(), parsed.options);
  const ExitDeadline deadline(stop.get(), kPatience);
  auto daemon = Daemon::start(os::real(), parsed.options);
  if (!daemon.ok()) {
    spdlog::error("{}", daemon.error().message);
    return serve::exit_code(daemon.error().kind);
  }
  tell(rights);
  spdlog::info("tailord {}: engines register at {}, profiles go to {}", session::kVersion,
               parsed.options.agent_socket, parsed.options.store);
  notify("READY=1");
  (*daemon)->serve(stop.get(), reload.get(), [&] { return parse_again(argc, argv); });
  notify("STOPPING=1");
  spdlog::info("stopping");
  Status stopped = (*daemon)->stop();
  if (stopped.ok()) return 0;
  spdlog::error("{}", stopped.error().message);
  return serve::exit_code(stopped.error().kind);
}

}  // namespace
}  // namespace tailor::tailord

int main(int argc, char** argv) {
  try {
    return tailor::tailord::run(argc, argv);
  } catch (const std::exception& problem) {
    const std::string text = std::string("tailord: ") + problem.what();
    std::fputs(tailor::tailord::as_errors(text, tailor::tailord::logs_to_journal()).c_str(), stderr);
    return tailor::serve::exit_code(tailor::ErrorKind::kInternal);
  }
}
