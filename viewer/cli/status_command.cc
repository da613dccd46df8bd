#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "daemon/query/time/wall_time.h"
#include "daemon/store/meta_codec.h"
#include "viewer/cli/accounting_text.h"
#include "viewer/cli/blocked_agents.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/status_json.h"
#include "viewer/cli/status_tag_cost.h"
#include "viewer/cli/text.h"
#include "viewer/cli/user_lines.h"

namespace tailor::cli {
namespace {

// A host may be busy for that long.
constexpr std::uint64_t kHeldUpNs = 1'000'000'000;
// The daemon reads it more often where nothing holds it up.
constexpr std::uint64_t kOldStoreUseNs = 30'000'000'000;

std::string samples_text(const v1::ProcessAccounting& a) {
  const std::uint64_t lost = a.lost_ring() + a.lost_hardware();
  const double known = static_cast<double>(a.attributed() + a.unattributed());
  return fmt::format("{} samples, {} attributed, {} lost", grouped(a.received()),
                     percent(known > 0 ? static_cast<double>(a.attributed()) / known : 0), grouped(lost));
}

std::string pause_text(const v1::ProcessStatus& p) {
  const std::string sum = duration(static_cast<double>(p.paused_ns()));
  if (!p.paused()) return fmt::format("was paused for {}", sum);
  return fmt::format("not sampled: paused since {}, {} in all (tailor resume {})",
                     query::local_time(p.paused_since_ns(), query::wall_clock_ns()), sum,
                     p.info().process().pid());
}

bool same_rate(const v1::RateStatus& one, const v1::RateStatus& other) {
  return one.frequency() == other.frequency() && one.until_ns() == other.until_ns() &&
         one.why() == other.why();
}

std::string rate_text(const v1::RateStatus& rate) {
  const std::string until =
      rate.until_ns() == 0 ? "" : " until " + query::local_time(rate.until_ns(), query::wall_clock_ns());
  return fmt::format("at {} Hz{}: {}", rate.frequency(), until, rate.why());
}

// Of the pod and the container, if it is in one; "": it is not, as far as its cgroup says.
std::string place_text(const v1::ProcessStatus& p) {
  constexpr std::size_t kShownDigits = 12;  // as Docker shows containers
  std::string out;
  if (!p.container().empty()) out = "in container " + p.container().substr(0, kShownDigits);
  if (!p.pod().empty()) out += (out.empty() ? "in pod " : " of pod ") + p.pod();
  return out;
}

std::string times_text(std::uint64_t count) {
  return count == 1 ? "1 time" : grouped(count) + " times";
}

// Above the list of processes; who has ended by now is not in it, but in the sums.
std::string processes_heading(const v1::DaemonStatus& s) {
  if (!s.processes().empty()) {
    const bool engines = std::ranges::any_of(
        s.processes(), [](const v1::ProcessStatus& p) { return !p.info().engine_name().empty(); });
    return engines ? "Engines:\n" : "Processes, none of which has registered:\n";
  }
  if (s.total().received() > 0)
    return "No process is sampled now: those that the samples are of have ended.\n";
  return "No engine has registered.\n";
}

std::string render_status(const v1::DaemonStatus& s, const Result<std::optional<query::Json>>& tag_cost,
                          const Terminal& terminal) {
  const auto text = [&](const std::string& value) { return escape_line(value, terminal.ascii); };
  std::string out = fmt::format("tailord {} (pid {}), up {}\n", text(s.daemon_version()), s.pid(),
                                duration(static_cast<double>(s.uptime_ns())));
  if (s.held_up_ns() > kHeldUpNs) {
    out += terminal.warn(fmt::format(
        "  held up              its recording has not answered for {}: what it counts is from {} ago\n",
        duration(static_cast<double>(s.held_up_ns())), duration(static_cast<double>(s.status_age_ns()))));
  }
  out += fmt::format("  engines register at  {}\n  profiles are kept in {}\n", text(s.agent_socket()),
                     text(s.store()));
  if (s.store_use_age_ns() > kOldStoreUseNs) {
    out += terminal.warn(fmt::format("  catalogue in use     what users have of the store is from {} ago\n",
                                     duration(static_cast<double>(s.store_use_age_ns()))));
  }
  out += fmt::format("  clock                {} {}{}\n", text(s.clock_source()), terminal.plus_minus(),
                     duration(static_cast<double>(s.clock_error_ns())));
  if (s.uptime_ns() > 0) {
    out += fmt::format("  its own CPU time     {} ({} of a core)\n",
                       duration(static_cast<double>(s.own_cpu_ns())),
                       percent(static_cast<double>(s.own_cpu_ns()) / static_cast<double>(s.uptime_ns())));
  }
  if (!s.sampling_notes().empty())
    out += fmt::format("  sampling             {}\n", text(s.sampling_notes()));
  if (s.has_rate()) {
    out += terminal.warn(fmt::format("  rate                 {} (configured: {} Hz)\n",
                                     text(rate_text(s.rate())), s.frequency()));
  }
  for (const v1::TriggerStatus& each : s.triggers()) {
    out += fmt::format("  trigger              {}: fired {}{}\n", text(each.name()), times_text(each.fired()),
                       each.skipped() == 0 ? "" : ", skipped " + times_text(each.skipped()));
  }
  out += tag_cost_line(tag_cost, terminal);
  out += fmt::format("  all processes        {}\n", samples_text(s.total()));
  if (const auto total = store::decode(s.total()); total.ok())
    out += wrap(accounting_text({*total, 0}), terminal.width, 2) + "\n";
  if (s.store_loss().blocks() > 0) {
    out += terminal.warn(fmt::format("  not written          {} blocks with {} samples: {}\n",
                                     s.store_loss().blocks(), grouped(s.store_loss().samples()),
                                     text(s.store_loss().reason())));
  }
  if (s.unsummed().samples() > 0 || s.unsummed().segments() > 0) {
    out += terminal.warn(fmt::format("  deleted without sums {} samples, and {} data segments as a whole\n",
                                     grouped(s.unsummed().samples()), s.unsummed().segments()));
  }
  if (!s.store_problem().empty())
    out += terminal.warn("  store                " + text(s.store_problem()) + "\n");
  if (s.agents_refused() + s.problems() > 0) {
    out += fmt::format("  refused agents       {}, problems {} (see the daemon's log)\n", s.agents_refused(),
                       s.problems());
  }
  if (s.all_paused())
    out += terminal.warn(
        "  paused               all processes, also those that register now (tailor resume all)\n");
  out += processes_heading(s);
  for (const v1::ProcessStatus& p : s.processes()) {
    const v1::ProcessInfo& info = p.info();
    const std::string name = info.engine_name().empty() ? info.comm() + " (not registered)"
                                                        : info.engine_name() + " " + info.engine_version();
    out += fmt::format("  {:>8}  {}  {}\n", info.process().pid(), text(name), samples_text(p.accounting()));
    if (const std::string place = place_text(p); !place.empty())
      out += terminal.dim("            " + text(place)) + "\n";
    if (p.paused_ns() > 0 || p.paused()) out += terminal.warn("            " + pause_text(p) + "\n");
    if (p.has_rate() && !same_rate(p.rate(), s.rate()))
      out += terminal.warn("            sampled " + text(rate_text(p.rate())) + "\n");
    if (!p.sampled() && !p.paused()) {
      const std::string why = p.not_sampled_because().empty() ? "" : ": " + text(p.not_sampled_because());
      out += terminal.warn("            not sampled" + why + "\n");
    }
  }
  out += render_users(s, terminal);
  out += render_http(s, terminal);
  const auto blocked = find_blocked_agents("/proc", s.agent_socket(), registered_in(s));
  if (!blocked.empty()) out += "Engines that cannot register:\n";
  for (const BlockedAgent& agent : blocked) {
    out += terminal.warn(fmt::format("  {:>8}  {}  {}\n", agent.pid, text(agent.comm), text(agent.why)));
  }
  return out;
}

int run_status(bool json, bool ascii) {
  auto status = ask_status_of_now();
  // Whether it is held up, or was busy for a moment.
  if (status && status->held_up_ns() != 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kHeldUpNs));
    status = ask_status_of_now();
  }
  if (!status) return complain(status.error());
  const auto tag_cost = status_tag_cost(*status);
  if (json) {
    const auto out = status_json(*status);
    if (!out) return complain(out.error());
    if (!tag_cost || !*tag_cost) {
      fmt::print("{}\n", *out);
      return kOk;
    }
    query::Json whole = query::Json::parse(*out);
    whole["tag_cost"] = **tag_cost;
    fmt::print("{}", query::dump(whole));
    return kOk;
  }
  Terminal terminal = Terminal::detect();
  terminal.ascii = terminal.ascii || ascii;
  fmt::print("{}", render_status(*status, tag_cost, terminal));
  return kOk;
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("status", "What the daemon is doing; fails if none runs");
  auto flags = std::make_shared<std::pair<bool, bool>>(false, false);
  command.add_flag("--json", flags->first, "JSON instead of text: DaemonStatus of tailor/v1/control.proto");
  command.add_flag("--ascii", flags->second, "No characters outside ASCII");
  command.callback(
      [flags, &action] { action = [flags] { return run_status(flags->first, flags->second); }; });
}

}  // namespace tailor::cli
