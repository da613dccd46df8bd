// `tailor pause` and `tailor resume`.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>

#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// Fills a PauseRequest or ResumeRequest. False if `which` is neither a pid nor "all".
template <typename Request>
bool set_which(const std::string& which, Request& request) {
  if (which == "all") {
    request.set_all(true);
    return true;
  }
  std::int32_t pid = 0;
  const auto [end, problem] = std::from_chars(which.data(), which.data() + which.size(), pid);
  request.set_pid(pid);
  return problem == std::errc() && end == which.data() + which.size() && pid > 0;
}

template <typename Processes>
void tell(const Processes& processes, const char* what) {
  for (const v1::ProcessRef& process : processes) fmt::print("process {}: {}\n", process.pid(), what);
  if (processes.empty()) fmt::print("no process was sampled or paused\n");
}

int pause(const std::string& which) {
  v1::ControlRequest request;
  if (!set_which(which, *request.mutable_pause()))
    return complain(invalid(fmt::format("\"{}\" is neither a pid nor all", which)));
  const auto reply = ask_daemon(request);
  if (!reply) return complain(reply.error());
  tell(reply->pause().processes(), "not sampled until `tailor resume`");
  if (request.pause().all()) fmt::print("Processes that register now are not sampled either.\n");
  return kOk;
}

int resume(const std::string& which) {
  v1::ControlRequest request;
  if (!set_which(which, *request.mutable_resume()))
    return complain(invalid(fmt::format("\"{}\" is neither a pid nor all", which)));
  const auto reply = ask_daemon(request);
  if (!reply) return complain(reply.error());
  if (reply->resume().problems().empty() || !reply->resume().processes().empty())
    tell(reply->resume().processes(), "sampled again");
  int code = kOk;
  for (const std::string& problem : reply->resume().problems()) code = complain(unavailable(problem));
  return code;
}

}  // namespace

void add_pause(CLI::App& app, Action& action) {
  const auto add = [&](const char* name, const char* help, int (*run)(const std::string&)) {
    CLI::App& command = *app.add_subcommand(name, help);
    auto which = std::make_shared<std::string>("all");
    command.add_option("process", *which, "A pid, or all")->type_name("PID")->capture_default_str();
    command.callback([which, run, &action] { action = [which, run] { return run(*which); }; });
  };
  add("pause", "Stops the sampling of a process, or of all", pause);
  add("resume", "Continues the sampling that was paused", resume);
}

}  // namespace tailor::cli
