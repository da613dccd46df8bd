#include "viewer/cli/attach.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "daemon/os/host_files.h"
#include "daemon/os/os.h"
#include "daemon/query/symbols/symbol_cache.h"
#include "daemon/session/kept_files.h"
#include "daemon/session/known_process.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/output_target.h"
#include "proto/control/control_client.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/span_profile.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Those that end a recording wait to be taken: of all threads that begin later, too.
sigset_t hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Until the time is up, the process is gone, or the user has had enough.
void wait_for_end(const AttachOptions& options, const sigset_t& signals) {
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  for (;;) {
    const std::chrono::duration<double> left = end - Clock::now();
    if (options.seconds > 0 && left.count() <= 0) return;
    const double step = options.seconds > 0 ? std::min(0.1, left.count()) : 0.1;
    const timespec timeout{0, static_cast<long>(step * 1e9)};
    if (::sigtimedwait(&signals, nullptr, &timeout) > 0) return;
    if (::kill(options.pid, 0) != 0 && errno == ESRCH) return;
  }
}

// And no later one of its number.
bool is_there(ProcessId process) {
  const auto found = os::identify(os::real(), process.pid);
  return found.ok() && *found == process;
}

Result<v1::ControlReply> ask(control::ControlClient& client,
                             void (*fill)(v1::ControlRequest&, const Span&, int), const Span& span, int pid) {
  v1::ControlRequest request;
  fill(request, span, pid);
  return client.ask(request);
}

}  // namespace

bool daemon_runs() {
  return connect_daemon().ok();
}

int record_process(const AttachOptions& options) {
  auto client = connect_daemon();
  if (!client) return complain(client.error());
  Span span;
  auto sampled = ask(
      *client, [](auto& r, const Span&, int pid) { r.mutable_sample()->set_pid(pid); }, span, options.pid);
  if (!sampled) return complain(sampled.error());
  const v1::SampleReply& reply = sampled->sample();
  span.process = store::get_process(reply.process());
  span.from = reply.time();
  span.store = reply.store();
  if (!reply.note().empty()) warn(reply.note());
  const pipeline::KnownProcess mapped = session::known_process("/proc", span.process);
  const sigset_t signals = hold_signals();
  session::KeptFiles kept("/proc");
  kept.known(mapped);
  fmt::print(stderr, "tailor: recording process {}; Ctrl-C ends it\n", options.pid);
  wait_for_end(options, signals);
  // Libraries that it loaded meanwhile.
  if (is_there(span.process)) kept.known(session::known_process("/proc", span.process));
  auto flushed = ask(*client, [](auto& r, const Span&, int) { r.mutable_flush(); }, span, 0);
  if (!flushed) return complain(flushed.error());
  span.to = flushed->flush().time();
  auto ended = ask(
      *client,
      [](auto& r, const Span& s, int) {
        store::set_process(*r.mutable_unsample()->mutable_process(), s.process);
      },
      span, 0);
  // The process may have ended by itself, and its sampling with it.
  if (!ended) warn(ended.error().message);
  auto samples = write_span(span, options.output, {.keep_old = options.keep_old}, kept.finder(),
                            query::symbol_cache(), warn_of_damage(span.store));
  if (!samples) return complain(samples.error());
  const std::string name = escape(store::output_name(options.output), false);
  fmt::print(stderr, "tailor: {} samples in {}\n", grouped(*samples), name);
  if (*samples > 0 && !store::is_standard_output(options.output))
    fmt::print(stderr, "tailor: next: tailor report {}\n", name);
  return kOk;
}

}  // namespace tailor::cli
