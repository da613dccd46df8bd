#include "viewer/cli/attach.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "daemon/profile/tee_sink.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/store/file_writer.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/output_target.h"
#include "daemon/store/selecting_sink.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_reader.h"
#include "proto/control/control_client.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Until the time is up, the process is gone, or the user has had enough.
void wait_for_end(const AttachOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
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

struct Span {
  ProcessId process;
  TimeNs from = 0, to = 0;
  std::string store;
};

Result<store::RecordingNumber> newest_recording(const store::Catalogue& catalogue) {
  auto segments = catalogue.segments();
  if (!segments) return segments.error();
  if (segments->empty()) return not_found("the store of the daemon is empty");
  return segments->back().recording;
}

Status write_span(const Span& span, const std::string& output, const store::OutputOptions& how) {
  auto catalogue = store::Catalogue::open(store::catalogue_path(span.store), store::Catalogue::Mode::kRead);
  if (!catalogue) return catalogue.error();
  auto recording = newest_recording(*catalogue);
  if (!recording) return recording.error();
  auto writer = store::FileWriter::create(output, how);
  if (!writer) return writer.error();
  query::HitFunctions hits;
  profile::TeeSink both({writer->get(), &hits});
  store::SelectingSink sink(both, span.process, span.from, span.to);
  store::ReadReport report;
  store::SaidLoss loss;
  const store::StoreSelection selection{*recording, span.from, span.to};
  if (auto ok = store::read_store(span.store, *catalogue, selection, sink, report, loss); !ok) return ok;
  for (const profile::FileNames& names : hits.names()) (*writer)->on_names(names);
  if (auto ok = (*writer)->finish(); !ok) return ok;
  const std::string name = escape(store::output_name(output), false);
  const std::uint64_t samples = (*writer)->stats().samples;
  fmt::print(stderr, "tailor: {} samples in {}\n", grouped(samples), name);
  if (samples > 0 && !store::is_standard_output(output))
    fmt::print(stderr, "tailor: next: tailor report {}\n", name);
  return Ok{};
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
  fmt::print(stderr, "tailor: recording process {}; Ctrl-C ends it\n", options.pid);
  wait_for_end(options);
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
  if (auto ok = write_span(span, options.output, {.keep_old = options.keep_old}); !ok)
    return complain(ok.error());
  return kOk;
}

}  // namespace tailor::cli
