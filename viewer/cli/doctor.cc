#include "viewer/cli/doctor.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "daemon/query/load/damage.h"
#include "daemon/query/sums/coverage.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/doctor_stacks.h"
#include "viewer/cli/installed.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using State = Finding::State;

double part(double value, double whole) {
  return whole > 0 ? value / whole : 0;
}

Finding look_at_losses(const query::PlanReport& report) {
  const double share = report.accounting.lost_share();
  if (share <= 0.01)
    return {State::kOk, "losses", fmt::format("{} of the samples were lost", percent(share)), ""};
  return {State::kProblem, "losses", fmt::format("{} of the samples were lost", percent(share)),
          "sample less often (--frequency), or give Tailor more CPU time"};
}

// What agents had ready when they ended. A message or two go with a process that ends at once.
void look_at_messages(const query::PlanReport& report, std::vector<Finding>& out) {
  constexpr std::uint64_t kFew = 100;
  const profile::Accounting& total = report.accounting.total;
  if (total.agent_unsent == 0) return;
  const double share = part(static_cast<double>(total.agent_unsent),
                            static_cast<double>(total.messages) + static_cast<double>(total.agent_unsent));
  const bool many = total.agent_unsent > kFew && share > 0.01;
  out.push_back({many ? State::kProblem : State::kNote, "messages",
                 fmt::format("{} messages of agents were not sent before their connection ended: what they "
                             "say of plans, code and executions is missing",
                             grouped(total.agent_unsent)),
                 many ? "the daemon did not keep up: give Tailor more CPU time, or load fewer plans; and "
                        "stop the agent before the process ends (docs/integrate-your-engine.md)"
                      : "stop the agent before the process ends (docs/integrate-your-engine.md)"});
}

Finding look_at_coverage(const query::Profile& profile) {
  const auto coverage = query::coverage_of(profile.recording());
  if (!coverage)
    return {State::kNote, "coverage", "how much CPU time the samples stand for is not known", ""};
  const std::string found =
      fmt::format("the samples stand for {} of the CPU time that was used", percent(coverage->share));
  if (!coverage->falls_short) return {State::kOk, "coverage", found, ""};
  return {State::kProblem, "coverage", found,
          "processes or threads were not sampled, or the host was too busy to take all samples "
          "(docs/capture.md)"};
}

// What to do about the most frequent reason.
std::string remedy_of(std::string_view reason) {
  if (reason == "not_registered")
    return "the engine did not register: use an agent (docs/integrate-your-engine.md, docs/postgresql.md, "
           "docs/jvm.md), or read functions (report --level function) or rules (docs/rules.md)";
  if (reason == "marks_lost")
    return "the engine writes marks faster than they are read: mark morsels, not tuples, or give Tailor CPU "
           "time";
  if (reason == "unregistered_code")
    return "register generated code: the findings on generated code say how (docs/integrate-your-engine.md)";
  if (reason == "unknown_user_code")
    return "code outside of operators: declare engine components for it (docs/integrate-your-engine.md)";
  if (reason == "tag_check_failed")
    return "the tag register holds other values where threads run: set and restore it around calls "
           "(docs/tags.md)";
  if (reason == "tag_plan_not_live")
    return "load a plan before code runs under its tags, and unload it after (docs/integrate-your-engine.md)";
  if (reason == "unknown_kernel")
    return "mark executions and components on all threads, so that work in the kernel has an owner";
  return "`tailor report` lists the functions (docs/cli.md)";
}

Finding look_at_unattributed(const query::PlanReport& report) {
  const double share = report.unattributed.share;
  const std::string found = fmt::format("{} of the samples belong to nobody", percent(share));
  if (share <= 0.05 || report.unattributed_rows.empty()) return {State::kOk, "unattributed", found, ""};
  const query::NamedRow& most = report.unattributed_rows.front();
  return {State::kProblem, "unattributed",
          fmt::format("{}, most often: {} ({})", found, most.name, percent(most.cost.share)),
          remedy_of(most.key), std::string(most.key)};
}

Finding look_at_plans(const query::Profile& profile, const query::PlanReport& report) {
  if (report.plans.empty() && !profile.executions().empty())
    return {State::kProblem, "plans",
            "executions were recorded, but no sample has an operator of their plans",
            "load the code of queries (tailor_code_load), or set tags around the work of operators "
            "(docs/integrate-your-engine.md)"};
  if (report.plans.empty())
    return {State::kNote, "plans", "no query plan was recorded",
            "without an agent, report --level function and --rules show what there is (docs/rules.md)"};
  return {State::kOk, "plans",
          fmt::format("{} of the time is in operators of {} plan{}", percent(report.operators.share),
                      report.plans.size(), report.plans.size() == 1 ? "" : "s"),
          ""};
}

// What agents noticed of how their engines use them. Many processes of an engine may say the same.
void look_at_notices(const query::Profile& profile, std::vector<Finding>& out) {
  std::map<std::string, std::pair<std::int32_t, std::size_t>> said;  // first process, how many
  for (const auto& [id, process] : profile.processes()) {
    for (const std::string& notice : process.agent_notices)
      ++said.try_emplace(notice, id.pid, 0).first->second.second;
  }
  for (const auto& [notice, by] : said) {
    const std::string more =
        by.second > 1 ? fmt::format(" ({} processes say this)", by.second) : std::string();
    out.push_back({State::kProblem, "agent",
                   fmt::format("the agent of process {} says: {}{}", by.first, notice, more),
                   "change how the engine uses its agent (docs/agent.md)"});
  }
}

// Processes of one engine of which the same is said.
struct Unregistered {
  std::int32_t first = 0;  // process
  std::size_t processes = 0;
  double weight = 0;
  query::WhyUnregistered why = query::WhyUnregistered::kNone;
};

void note_process(const query::UnregisteredCode& code, Unregistered& all) {
  if (all.processes++ == 0) all.first = code.process.pid;
  all.weight += code.cost.weight;
  all.why = code.why;
}

void look_at_generated_code(const query::PlanReport& report, std::vector<Finding>& out) {
  std::map<std::string, Unregistered> said;
  Unregistered untagged;
  for (const query::UnregisteredCode& code : report.unregistered) {
    note_process(code, said[query::found_text(code)]);
    if (!code.tags) note_process(code, untagged);
  }
  for (const auto& [text, all] : said) {
    const double share = part(all.weight, report.total.weight);
    const std::string more =
        all.processes > 1 ? fmt::format(" ({} processes are like this)", all.processes) : std::string();
    out.push_back(
        {share >= query::kUnregisteredMatters ? State::kProblem : State::kNote, "generated code",
         fmt::format("{} of the samples are in generated code that nobody registered: process {}: {}{}",
                     percent(share), all.first, text, more),
         std::string(query::remedy_of(all.why)), std::string(query::key_of(all.why))});
  }
  if (untagged.processes == 0) return;
  const std::string more =
      untagged.processes > 1 ? fmt::format(" ({} processes are like this)", untagged.processes) : "";
  out.push_back(
      {State::kNote, "tags",
       fmt::format("the agent of process {} keeps no tags, so shared code that generated code calls "
                   "has no owner{}",
                   untagged.first, more),
       "choose where tags live, when the engine registers (docs/tags.md)", "no_tags"});
}

Finding look_at_evidence(const query::PlanReport& report) {
  const query::Amount& all = report.all.amount;
  const double inferred = part(all.inferred, all.weight);
  const std::string found = fmt::format("the place of {} of the samples was inferred", percent(inferred));
  if (inferred <= 0.25) return {State::kOk, "lineage", found, ""};
  return {State::kNote, "lineage", found,
          "give the engine's passes lineage (docs/lineage.md); names from a perf map are always inferred"};
}

std::vector<Finding> look_at_file(const query::Profile& profile) {
  std::vector<Finding> out;
  const store::ReadReport& read = profile.read_report();
  const std::string damage = query::damage_text(read, profile.said_loss());
  if (!damage.empty())
    out.push_back({State::kProblem, "file", damage, "what can be read is shown; record again"});
  if (!read.finished)
    out.push_back({State::kNote, "file",
                   "the recording was not finished: it still runs, or its writer was killed", ""});
  if (profile.recording().kernel_not_sampled)
    out.push_back({State::kNote, "kernel time", "time in the kernel was not sampled",
                   "let tailord record, or see `tailor doctor` without a file"});
  return out;
}

}  // namespace

std::vector<Finding> look_at_daemon(const v1::DaemonStatus& status,
                                    const std::vector<BlockedAgent>& blocked) {
  std::vector<Finding> out;
  out.push_back({State::kOk, "daemon", fmt::format("tailord {} runs", status.daemon_version()), ""});
  if (!status.store_problem().empty())
    out.push_back(
        {State::kProblem, "store", status.store_problem(), "make room, or name another store (--store)"});
  if (status.agents_refused() > 0)
    out.push_back({State::kNote, "agents", fmt::format("{} agents were refused", status.agents_refused()),
                   "the daemon's log has the reasons"});
  for (const BlockedAgent& each : blocked)
    out.push_back({State::kProblem, "engines",
                   fmt::format("process {} ({}) has an agent that cannot register", each.pid, each.comm),
                   each.why});
  if (status.processes().empty() && blocked.empty())
    out.push_back({State::kNote, "engines", "no engine is registered now",
                   "start an engine with an agent, or sample any process: tailor record -p PID"});
  for (const v1::ProcessStatus& process : status.processes()) {
    if (process.sampled()) continue;
    out.push_back(
        {State::kProblem, "engines",
         fmt::format("process {} ({}) is not sampled", process.info().process().pid(), process.info().comm()),
         process.not_sampled_because()});
  }
  return out;
}

std::vector<Finding> look_at_profile(const query::Profile& profile, const query::PlanReport& report) {
  std::vector<Finding> out = look_at_file(profile);
  look_at_notices(profile, out);
  out.push_back(look_at_plans(profile, report));
  out.push_back(look_at_unattributed(report));
  look_at_generated_code(report, out);
  out.push_back(look_at_losses(report));
  look_at_messages(report, out);
  out.push_back(look_at_coverage(profile));
  out.push_back(look_at_evidence(report));
  std::ranges::move(look_at_stacks(report.accounting), std::back_inserter(out));
  return out;
}

std::string_view state_key(Finding::State state) {
  return state == State::kOk ? "ok" : state == State::kNote ? "note" : "problem";
}

std::string render(const std::vector<Finding>& findings, const Terminal& terminal) {
  constexpr std::size_t kStateWidth = 9, kCheckWidth = 14;
  std::string out;
  for (const Finding& each : findings) {
    const std::string state = pad(state_key(each.state), kStateWidth);
    const std::string check = pad(escape_line(each.check, terminal.ascii), kCheckWidth);
    const std::string text =
        escape_line(each.found, terminal.ascii) +
        (each.remedy.empty() ? ""
                             : ". Remedy: " + escape_line(with_document_paths(each.remedy), terminal.ascii));
    std::string lines = wrap(text, terminal.width, kStateWidth + kCheckWidth);
    lines.replace(0, kStateWidth + kCheckWidth, check);
    out += (each.state == State::kProblem ? terminal.warn(state) : terminal.dim(state)) + lines + "\n";
  }
  return out;
}

std::vector<Finding> look_at_agent_socket(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};  // no daemon: that is another finding
  if (::access(path.c_str(), W_OK) == 0)
    return {{State::kOk, "agents", fmt::format("engines of this user can register at {}", path), ""}};
  return {{State::kProblem, "agents",
           fmt::format("engines of this user cannot register: {} may not be opened by them (mode {:04o})",
                       path, info.st_mode & 07777),
           "tailord made the socket for its own group alone: start the socket of systemd, which is open to "
           "all users "
           "(systemctl enable --now tailord.socket, then systemctl restart tailord), or see --socket-group "
           "(docs/tailord.md)"}};
}

std::vector<Finding> ask_daemon() {
  auto client = connect_daemon();
  if (!client && client.error().kind == ErrorKind::kDenied)
    return {{State::kProblem, "daemon", client.error().message,
             "`tailor record` needs no daemon; the daemon's answers need a user that it serves"}};
  if (!client)
    return {{State::kNote, "daemon", client.error().message,
             "`tailor record` needs no daemon; to sample all the time, start tailord (docs/operate.md)"}};
  v1::ControlRequest request;
  request.mutable_status();
  auto reply = client->ask(request);
  if (!reply) return {{State::kProblem, "daemon", reply.error().message, ""}};
  const v1::DaemonStatus& status = reply->status();
  return look_at_daemon(status, find_blocked_agents("/proc", status.agent_socket(), registered_in(status)));
}

std::string findings_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& each : findings)
    rows.push_back({{"state", state_key(each.state)},
                    {"check", each.check},
                    {"cause", each.cause},
                    {"found", each.found},
                    {"remedy", each.remedy}});
  return rows.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tailor::cli
