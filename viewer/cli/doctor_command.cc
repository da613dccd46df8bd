#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/doctor.h"
#include "viewer/cli/doctor_names.h"

namespace tailor::cli {
namespace {

int print(const std::vector<Finding>& findings, const Choice& choice) {
  if (choice.json) {
    print_json(findings_json(findings) + "\n");
  } else {
    fmt::print("{}", render(findings, choice.terminal()));
  }
  const bool problem =
      std::ranges::any_of(findings, [](const auto& each) { return each.state == Finding::State::kProblem; });
  return problem ? kProblemFound : kOk;
}

int run_doctor(Choice choice) {
  if (choice.what.empty() && choice.execution.empty() && !choice.has_last && choice.process.empty()) {
    std::vector<Finding> findings = look_at_host(os::real());
    findings.push_back(look_at_symbol_cache(query::symbol_cache()));
    std::ranges::move(ask_daemon(), std::back_inserter(findings));
    // Where agents look: not where daemons of users other than root listen.
    const char* named = std::getenv("TAILOR_SOCKET");
    const std::string socket = named != nullptr && *named != '\0' ? named : "/run/tailor/agent.sock";
    std::ranges::move(look_at_agent_socket(socket), std::back_inserter(findings));
    return print(findings, choice);
  }
  choice.detail.functions = true;
  auto chosen = choose(choice);
  if (!chosen) return complain(chosen.error());
  const auto report = query::function_report(chosen->profile, chosen->selection);
  if (!report) return complain(report.error());
  std::vector<Finding> findings = look_at_profile(chosen->profile, report->summary);
  std::ranges::move(look_at_names(*report), std::back_inserter(findings));
  return print(findings, choice);
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "doctor",
      "Checks this host and its daemon; with a profile or execution, checks what was recorded there");
  auto choice = std::make_shared<Choice>();
  add_choice(command, *choice);
  command.footer("Exit codes: 0 no problem, 1 a problem was found.");
  command.callback([choice, &action] { action = [choice] { return run_doctor(*choice); }; });
}

}  // namespace tailor::cli
