#include "daemon/tailord/control_answers.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "daemon/os/host_files.h"
#include "daemon/profile/cgroup.h"
#include "daemon/session/host_info.h"
#include "daemon/store/meta_codec.h"
#include "daemon/tailord/rate_options.h"
#include "daemon/tailord/user_status.h"

namespace tailor::tailord {
namespace {

constexpr int kFlushTries = 25;
constexpr std::chrono::milliseconds kBetweenFlushes{20};
// A recorder that does not answer for that long is held up. So is one that says nothing for longer than it
// ever sleeps, though nobody has asked.
constexpr std::chrono::milliseconds kHeldUp{100};
constexpr std::chrono::seconds kSilent{10};
// What is younger is not asked for again: clients that ask without end do not keep the recorder busy.
constexpr std::chrono::milliseconds kYoung{1};

constexpr std::uint64_t kLongestRateDays = 7;
constexpr std::uint64_t kLongestRateNs = kLongestRateDays * 86'400 * 1'000'000'000;

// A pid, or nothing for all processes.
template <typename Request>
Result<std::optional<std::int32_t>> asked_for(const Request& request) {
  if (request.which_case() == Request::kPid) return std::optional<std::int32_t>(request.pid());
  if (request.which_case() == Request::kAll && request.all()) return std::optional<std::int32_t>();
  return invalid("the request names no process");
}

void set_rate(std::uint64_t frequency, std::uint64_t until_ns, const std::string& why, v1::RateStatus& out) {
  out.set_frequency(static_cast<std::uint32_t>(frequency));
  out.set_until_ns(until_ns);
  out.set_why(store::to_utf8(why));
}

void encode_process(const session::RecordedProcess& process, v1::ProcessStatus& to) {
  store::encode(process.record, *to.mutable_info());
  store::encode(process.accounting, *to.mutable_accounting());
  to.set_sampled(process.sampled);
  to.set_not_sampled_because(store::to_utf8(process.not_sampled_because));
  to.set_paused(process.paused_since_ns != 0);
  to.set_paused_since_ns(process.paused_since_ns);
  to.set_paused_ns(process.paused_ns);
  profile::CgroupNames names = profile::names_in_cgroup(process.record.cgroup);
  to.set_pod(std::move(names.pod));
  to.set_container(std::move(names.container));
  if (process.frequency != 0)
    set_rate(process.frequency, process.rate_until_ns, process.rate_why, *to.mutable_rate());
}

void encode_count(const std::string& reason, std::uint64_t count, v1::RefusalCount& to) {
  to.set_reason(reason);
  to.set_count(count);
}

std::uint64_t age_of(std::chrono::nanoseconds age) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, age.count()));
}

// What the recorder has published.
void encode_recorder(const session::RecorderStatus& now, v1::DaemonStatus& out) {
  out.set_clock_source(now.clock_source);
  out.set_clock_error_ns(now.clock_error_ns);
  out.set_sampling_notes(now.sampling_notes);
  out.set_watermark(now.pipeline.watermark);
  store::encode(now.total, *out.mutable_total());
  out.set_samples_pending(now.pipeline.pending);
  out.set_samples_undecoded(now.pipeline.undecoded);
  out.set_agents_refused(now.registration.refused);
  out.set_problems(now.pipeline.problems);
  out.set_watermark_timeouts(now.pipeline.without_settlement);
  out.set_own_cpu_ns(now.own_cpu_ns);
  out.set_longest_step_ns(static_cast<std::uint64_t>(now.longest_step));
  out.set_long_steps(now.long_steps);
  for (const auto& [reason, n] : now.registration.refusals) encode_count(reason, n, *out.add_refusals());
  for (const auto& [key, n] : now.limits) encode_count(key, n, *out.add_limits());
  for (const session::RecordedProcess& process : now.processes) encode_process(process, *out.add_processes());
  if (now.frequency != 0) set_rate(now.frequency, now.rate_until_ns, now.rate_why, *out.mutable_rate());
  out.set_all_paused(now.all_paused);
  out.set_untagged_ppm(now.untagged_ppm);
}

}  // namespace

Status ControlAnswers::answer(const v1::ControlRequest& request, const std::string& asker,
                              v1::ControlReply& reply) {
  switch (request.request_case()) {
    case v1::ControlRequest::kStatus:
      status(*reply.mutable_status());
      return Ok{};
    case v1::ControlRequest::kFlush:
      return flush(*reply.mutable_flush());
    case v1::ControlRequest::kSample:
      return sample(request.sample().pid(), *reply.mutable_sample());
    case v1::ControlRequest::kUnsample:
      recorder_.detach(store::get_process(request.unsample().process()));
      reply.mutable_unsample();
      return Ok{};
    case v1::ControlRequest::kPause:
      return pause(request.pause(), *reply.mutable_pause());
    case v1::ControlRequest::kResume:
      return resume(request.resume(), *reply.mutable_resume());
    case v1::ControlRequest::kRate:
      return rate(request.rate(), asker, *reply.mutable_rate());
    default:
      return invalid("this daemon does not know the request: is the command line newer?");
  }
}

void ControlAnswers::status(v1::DaemonStatus& out) {
  const StoreUse::Reading use = store_use_.ask();
  out.mutable_unsummed()->set_segments(use.given_up.segments);
  out.mutable_unsummed()->set_samples(use.given_up.samples);
  out.set_store_use_age_ns(age_of(StoreUse::Clock::now() - use.begun));
  const session::RecorderStatus now = recorder_.status();
  counts_.add_to(out);
  // What users take is not nothing then.
  if (out.store_problem().empty()) out.set_store_problem(store::to_utf8(use.problem));
  const std::chrono::nanoseconds age(os_.now() - now.published);
  out.set_status_age_ns(age_of(age));
  const std::chrono::nanoseconds held_up = age < kSilent ? recorder_.held_up() : age;
  if (held_up >= kHeldUp) out.set_held_up_ns(age_of(held_up));
  if (age >= kYoung) recorder_.ask_for_status();
  out.set_daemon_version(session::kVersion);
  out.set_pid(::getpid());
  out.set_uptime_ns(static_cast<std::uint64_t>(os_.now() - started_));
  out.set_agent_socket(options_.agent_socket);
  out.set_store(options_.store);
  out.set_frequency(static_cast<std::uint32_t>(options_.sampling.frequency));
  out.set_max_frequency(static_cast<std::uint32_t>(options_.max_frequency));
  encode_recorder(now, out);
  add_refusals_(out);
  tell_users(now, use.users, out);
}

Status ControlAnswers::flush(v1::FlushReply& out) {
  out.set_time(os_.now());
  recorder_.flush();
  // The recorder does not wait for the catalogue, and the catalogue's thread not for its readers. These
  // mostly read for a moment, and this thread waits.
  for (int tries = 1;; ++tries) {
    Result<store::CatalogueKeeper::Ticket> begun = store::CatalogueKeeper::Ticket{0};
    recorder_.run([&] { begun = store_.begin_flush(); });
    if (!begun) return begun.error();
    Status flushed = store_.wait_for(*begun);
    if (flushed || flushed.error().code != EBUSY || tries == kFlushTries) return flushed;
    os_.sleep(kBetweenFlushes);
  }
}

Status ControlAnswers::sample(std::int32_t pid, v1::SampleReply& out) {
  auto process = os::identify(os_, pid);
  if (!process.ok()) return process.error();
  out.set_time(os_.now());
  out.set_store(options_.store);
  auto known = recorder_.sample_process(*process, capture_);
  if (!known.ok()) return known.error();
  store::set_process(*out.mutable_process(), *process);
  out.set_registered(known->registered);
  out.set_note(store::to_utf8(known->note));
  return Ok{};
}

Status ControlAnswers::pause(const v1::PauseRequest& request, v1::PauseReply& out) {
  auto which = asked_for(request);
  if (!which.ok()) return which.error();
  auto paused = recorder_.pause(*which);
  if (!paused.ok()) return paused.error();
  for (ProcessId process : *paused) store::set_process(*out.add_processes(), process);
  spdlog::info("sampling of {} is paused", *which ? fmt::format("process {}", **which) : "all processes");
  return Ok{};
}

Status ControlAnswers::resume(const v1::ResumeRequest& request, v1::ResumeReply& out) {
  auto which = asked_for(request);
  if (!which.ok()) return which.error();
  auto resumed = recorder_.resume(*which);
  if (!resumed.ok()) return resumed.error();
  for (ProcessId process : resumed->processes) store::set_process(*out.add_processes(), process);
  for (const std::string& problem : resumed->problems) out.add_problems(store::to_utf8(problem));
  spdlog::info("sampling of {} goes on", *which ? fmt::format("process {}", **which) : "all processes");
  return Ok{};
}

Status ControlAnswers::rate(const v1::RateRequest& request, const std::string& asker, v1::RateReply& out) {
  auto which = asked_for(request);
  if (!which.ok()) return which.error();
  const std::string of = *which ? fmt::format("process {}", **which) : "all processes";
  Result<session::RatesChanged> changed = session::RatesChanged{};
  if (request.frequency() == 0) {
    changed = recorder_.reset_rate(*which);
  } else {
    auto rate = rate_of(os_, options_, capture_, Raise{.frequency = request.frequency()}, asker);
    if (!rate.ok()) return rate.error();
    if (request.for_ns() > kLongestRateNs)
      return invalid(fmt::format("a rate lasts {} days at most, or until it is changed", kLongestRateDays));
    changed = recorder_.set_rate(*which, std::move(*rate), static_cast<TimeNs>(request.for_ns()));
  }
  if (!changed.ok()) return changed.error();
  for (ProcessId process : changed->processes) store::set_process(*out.add_processes(), process);
  for (const std::string& problem : changed->problems) out.add_problems(store::to_utf8(problem));
  spdlog::info("{}: {} sampled {}", asker, of,
               request.frequency() == 0 ? "as before" : fmt::format("at {} Hz", request.frequency()));
  return Ok{};
}

}  // namespace tailor::tailord
