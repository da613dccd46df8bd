#include "daemon/tailord/daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "daemon/control/access.h"
#include "daemon/os/host_files.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/session/host_info.h"
#include "daemon/store/meta_codec.h"
#include "daemon/tailord/inherited_listener.h"
#include "daemon/tailord/notify.h"
#include "daemon/tailord/part_options.h"
#include "daemon/tailord/prepared.h"
#include "daemon/tailord/reload.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"
#include "proto/control/socket_directory.h"

namespace tailor::tailord {
namespace {

// Of the log's limits; processes have their pids.
constexpr std::int64_t kControlSocket = -1;

// Readable where one of them is.
UniqueFd either_of(int one, int other) {
  UniqueFd both(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {one, other}) {
    epoll_event event{};
    event.events = EPOLLIN;
    (void)::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event);
  }
  return both;
}

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

std::uint64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

control::OwnerOf owners_by(const os::Os& os) {
  return [&os](std::int32_t pid) { return os::owner_of(os.proc() / std::to_string(pid)); };
}

// What an engine or a file says may hold anything, line breaks and escape sequences too.
std::string without_controls(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

void refuse(Error error, v1::ControlReply& reply) {
  error.message = store::to_utf8(error.message);
  control::set_error(reply, error);
}

}  // namespace

void Daemon::log_problem(const pipeline::Problem& problem) {
  std::uint64_t suppressed = 0;
  if (!log_limiter_.may(problem.process.pid, LogLimiter::Clock::now(), suppressed)) return;
  std::string text = without_controls(problem.text);
  if (suppressed > 0) text += fmt::format(" ({} more problems of it were not logged)", suppressed);
  if (problem.process.pid != 0) {
    spdlog::warn("process {}: {}", problem.process.pid, text);
  } else {
    spdlog::warn("{}", text);
  }
}

void Daemon::log_damage(const std::string& text) {
  if (damage_log_.may(text, DamageLog::Clock::now()))
    spdlog::warn("a request met damage in the store. {}", without_controls(text));
}

void Daemon::cut_off(const std::string& why) {
  {
    std::lock_guard lock(cut_off_mutex_);
    ++cut_off_[why];
  }
  std::uint64_t suppressed = 0;
  if (!log_limiter_.may(kControlSocket, LogLimiter::Clock::now(), suppressed)) return;
  spdlog::warn("control socket: cut off: {}{}", why,
               suppressed > 0 ? fmt::format(" ({} more were not logged)", suppressed) : "");
}

void Daemon::add_cut_off(v1::DaemonStatus& out) {
  std::lock_guard lock(cut_off_mutex_);
  for (const auto& [reason, count] : cut_off_) {
    v1::RefusalCount& to = *out.add_refusals();
    to.set_reason("control socket: " + reason);
    to.set_count(count);
  }
}

Result<std::unique_ptr<Daemon>> Daemon::start(os::Os& os, const Options& options) {
  std::unique_ptr<Daemon> daemon(new Daemon(os, options));
  auto prepared = prepare(os, options);
  if (!prepared.ok()) return prepared.error();
  daemon->capture_ = std::move(prepared->capture);
  for (const std::string& path : {options.agent_socket, options.control_socket}) {
    Status made = control::make_socket_directory(path);
    if (!made.ok()) return made.error();
  }
  auto store = store::StoreWriter::open(options.store, store_options(options), query::wall_clock_ns());
  if (!store.ok()) return store.error();
  daemon->store_ = std::move(*store);
  daemon->namer_ = std::make_unique<session::FunctionNamer>(namer_options(options, *daemon->store_));
  daemon->sinks_ = std::make_unique<profile::TeeSink>(std::vector<profile::ProfileSink*>{
      daemon->store_.get(), &daemon->meter_, &daemon->triggered_.triggers(), &daemon->namer_->sink()});
  const Moment before = daemon->moment();
  daemon->triggered_.set(options.triggers, std::move(prepared->rates));
  if (!options.journal.empty()) {
    auto journal = journal::JournalWriter::create(options.journal, pipeline_options(options));
    if (!journal.ok()) return journal.error();
    daemon->journal_ = std::move(*journal);
  }
  auto inherited = inherited_listener(options.agent_socket);
  if (!inherited.ok()) return inherited.error();
  if (*inherited && !options.socket_group.empty())
    return invalid(
        "the service manager has made the agent socket: who may register is said there (SocketGroup=, "
        "SocketMode=), not by --socket-group");
  session::RecorderOptions live = live_options(options, daemon->capture_, daemon->journal_.get());
  live.agent_listener = inherited->release();
  live.namer = daemon->namer_.get();
  live.ask_rates = [raw = daemon.get()](TimeNs now, const std::function<bool(ProcessId)>& may_raise) {
    return raw->triggered_.take(now, may_raise);
  };
  live.on_publish = [raw = daemon.get()] { raw->counts_.publish(*raw->store_, raw->triggered_.triggers()); };
  auto recorder = session::Recorder::start(
      os, std::move(live), *daemon->sinks_,
      [raw = daemon.get()](const pipeline::Problem& problem) { raw->log_problem(problem); });
  if (!recorder.ok()) return recorder.error();
  daemon->recorder_ = std::move(*recorder);
  daemon->read_past_runs(before);
  daemon->answers_ = std::make_unique<ControlAnswers>(
      os, ControlAnswers::Sampling{daemon->options_, daemon->capture_}, *daemon->recorder_, *daemon->store_,
      daemon->counts_, [raw = daemon.get()](v1::DaemonStatus& out) { raw->add_cut_off(out); });
  daemon->work_ = std::make_unique<ControlWork>(
      [raw = daemon.get()](const v1::ControlRequest& request) { return raw->answer_late(request); });
  daemon->compactor_ = std::make_unique<Compactor>(
      options.store, CompactorOptions{.retention = summary_retention(options)}, *daemon->store_);
  daemon->reports_ = std::make_unique<Reports>(
      options.store,
      [raw = daemon.get()]() -> Result<TimeNs> {
        v1::FlushReply flushed;
        if (Status done = raw->answers_->flush(flushed); !done.ok()) return done.error();
        return flushed.time();
      },
      [raw = daemon.get()](const std::string& text) { raw->log_damage(text); });
  auto control = control::ControlServer::listen(
      options.control_socket,
      [raw = daemon.get()](const v1::ControlRequest& request, const control::Peer& peer,
                           const control::ControlServer::Promise& promise) {
        return raw->answer(request, peer, promise);
      },
      [raw = daemon.get()](const std::string& why) { raw->cut_off(why); }, options.control_clients);
  if (!control.ok()) return control.error();
  daemon->control_ = std::move(*control);
  auto web = Web::start(std::move(prepared->http), daemon->web_side(), daemon->meter_);
  if (!web.ok()) return web.error();
  daemon->web_ = std::move(*web);
  return daemon;
}

void Daemon::serve(int stop_fd, int reload_fd, const ReadOptions& read_options) {
  Watchdog watchdog;
  TimeNs turned = 0;
  const UniqueFd either = either_of(stop_fd, reload_fd);
  while (true) {
    if (control_->poll(either.get(), watchdog.timeout_ms())) {
      signalfd_siginfo asked{};
      if (is_readable(stop_fd)) return;
      if (::read(reload_fd, &asked, sizeof asked) == sizeof asked)
        work_->start_reload([this, read_options] { reload(read_options()); });
    }
    if (!watchdog.due()) continue;
    // Whether the recording has made a turn since the last look. The next one is asked for, without waiting.
    const TimeNs published = recorder_->status().published;
    recorder_->ask_for_status();
    watchdog.look(std::exchange(turned, published) != published);
  }
}

Moment Daemon::moment() {
  return {os_.now(), static_cast<std::uint64_t>(os_.wall_clock())};
}

// Once, and only where a trigger asks for usual times.
void Daemon::read_past_runs(const Moment& before) {
  static constexpr std::size_t kAtATime = 4'000;
  const bool asked = std::ranges::any_of(
      options_.triggers, [](const TriggerRule& rule) { return rule.slower_than_usual.has_value(); });
  if (!asked || past_runs_ != nullptr) return;
  // In parts, the oldest first: the thread that counts them has other work between these.
  const auto take = [this](const std::vector<PastRun>& runs) {
    for (std::span<const PastRun> rest(runs); !rest.empty();) {
      const auto part = rest.last(std::min(kAtATime, rest.size()));
      recorder_->run([&] { triggered_.triggers().know(part); });
      rest = rest.first(rest.size() - part.size());
    }
  };
  past_runs_ = std::make_unique<PastRunsReader>(options_.store, before, Triggers::kMostFingerprints, take);
}

// Those of the triggers, by what else holds until a restart.
Result<PreparedRates> Daemon::rates_after(const Options& read) {
  Options after = options_;
  take_changes(after, read);
  return prepare_rates(os_, after, capture_);
}

// As a whole or not at all. On the thread of `work_`: it waits for the recorder.
void Daemon::reload(const Result<Options>& read) {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_us()));
  auto rates = read.ok() ? rates_after(*read) : read.error();
  if (!rates.ok()) {
    spdlog::error("the configuration cannot be read again, and everything stays as it was: {}",
                  rates.error().message);
  } else {
    const Changes changes = changes_of(options_, *read);
    const bool triggers_change = options_.triggers != read->triggers;
    take_changes(options_, *read);
    spdlog::set_level(spdlog::level::from_str(options_.log_level));
    const store::StoreOptions store = store_options(options_);
    store_->set_retention(store.keep_bytes, store.keep_ns, store.catalogue_bytes);
    compactor_->set_retention(summary_retention(options_));
    recorder_->run([&] { namer_->set_budget(session::names_budget(store.keep_bytes)); });
    recorder_->set_keep_literals(options_.keep_literals);
    recorder_->set_untagged(options_.sampling.untagged_executions);
    recorder_->set_rules(options_.processes);
    const Moment before = moment();
    if (triggers_change) recorder_->run([&] { triggered_.set(options_.triggers, std::move(*rates)); });
    read_past_runs(before);
    spdlog::info(
        "the configuration was read again; changed: {}",
        changes.at_run_time.empty() ? "nothing" : fmt::format("{}", fmt::join(changes.at_run_time, ", ")));
    if (!changes.needs_restart.empty())
      spdlog::warn("these keys have their old values until tailord is restarted: {}",
                   fmt::join(changes.needs_restart, ", "));
  }
  notify("READY=1");
}

Web::Daemon Daemon::web_side() {
  return {session::kVersion,
          options_.store,
          [this] {
            v1::DaemonStatus now;
            answers_->status(now);
            return now;
          },
          [this] {
            v1::FlushReply ignored;
            // What could not be written is in the status.
            (void)answers_->flush(ignored);
          },
          [this](const v1::ControlRequest& request, const serve::Access& access) {
            return control_by_http(request, access);
          },
          [this](const std::string& text) { log_damage(text); }};
}

Result<v1::ControlReply> Daemon::control_by_http(const v1::ControlRequest& request,
                                                 const serve::Access& access) {
  if (!access.see_all) {
    const auto is_own = [&](std::uint32_t uid) { return access.uids && access.uids->contains(uid); };
    Status may = control::check_own(request, is_own, owners_by(os_));
    if (!may.ok()) return may.error();
  }
  v1::ControlReply reply;
  if (Status done = answers_->answer(request, "a request over HTTP", reply); !done.ok()) return done.error();
  return reply;
}

Status Daemon::stop() {
  web_.reset();
  // What is being done is finished, and its asker is told.
  work_.reset();
  (void)control_->poll(-1, 0);
  control_.reset();
  reports_.reset();
  compactor_.reset();
  past_runs_.reset();
  recorder_->stop();
  // Two ways to the same: where they differ much, one of them is wrong on this host.
  const auto objects = recorder_->status().objects;
  if (objects.told + objects.same + objects.other > 0)
    spdlog::info("operators on call stacks: {} samples by them alone, {} as their tags say, {} otherwise",
                 objects.told, objects.same, objects.other);
  Status finished = store_->finish();
  if (journal_ != nullptr) {
    Status kept = journal_->finish();
    if (finished.ok()) finished = kept;
  }
  return finished;
}

std::optional<v1::ControlReply> Daemon::answer(const v1::ControlRequest& request, const control::Peer& peer,
                                               const control::ControlServer::Promise& promise) {
  v1::ControlReply reply;
  Status done = control::check_access(request, peer, ::geteuid(), owners_by(os_));
  if (done.ok() && request.has_status()) {
    answers_->status(*reply.mutable_status());
    if (web_ != nullptr) web_->tell_use(*reply.mutable_status());
    return reply;
  }
  if (done.ok() && work_ == nullptr) done = unavailable("tailord ends");
  if (done.ok())
    done = request.has_report() ? reports_->start(request.report(), serve::asker_of_user(peer.uid), promise)
                                : work_->start(request, promise);
  if (done.ok()) return std::nullopt;
  refuse(done.error(), reply);
  return reply;
}

v1::ControlReply Daemon::answer_late(const v1::ControlRequest& request) {
  v1::ControlReply reply;
  if (Status done = answers_->answer(request, "tailor rate", reply); !done.ok()) refuse(done.error(), reply);
  return reply;
}

}  // namespace tailor::tailord
