#include "viewer/cli/perf_words.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

namespace tailor::cli {
namespace {

// Help does not list them.
constexpr const char* kHidden = "";

struct Unknown {
  const char* names;
  bool has_value;
  const char* instead;
};

constexpr Unknown kUnknown[] = {
    {"-a,--all-cpus", false,
     "a recording is of one process: name it with -p PID. For all processes of the host, run tailord with a "
     "rule "
     "([[processes.sample]] with cgroup = \"/\", docs/tailord.md), then type tailor report --pid PID"},
    {"-t,--tid", true,
     "a recording is of a whole process: type -p with the pid of its process. tailor timeline, flame and "
     "memory "
     "show one of its threads with --thread TID"},
    {"-c,--count", true, "a period belongs to its event: type -e NAME@PERIOD, as -e cycles@1000000"},
    {"-G,--cgroup", true,
     "a recording is of one process: name it with -p PID. For a cgroup, run tailord with a rule "
     "([[processes.sample]] "
     "with cgroup = \"/...\", docs/tailord.md)"},
    {"-D,--delay", true,
     "a command is recorded from its start. tailor timeline and report show a part of it with --from 2s"},
    {"-u,--uid", true,
     "a recording is of one process: name it with -p PID. For a user, run tailord with a rule "
     "([[processes.sample]] "
     "with uid = NUMBER, docs/tailord.md)"},
    {"-C,--cpu", true, "threads are sampled wherever they run: leave it out"},
    {"-b,--branch-any", false, "branches are not recorded: leave it out"},
    {"-d,--data", false, "data addresses are recorded with --memory"},
};

}  // namespace

PerfWords::PerfWords(CLI::App& command, config::SamplingOptions& sampling) {
  CLI::Option* aggregate = command.get_option("--aggregate");
  command
      .add_flag_callback(
          "-g", [&sampling] { sampling.callchain = true; }, "Call chains by frame pointers: --callchain")
      ->excludes(aggregate);
  const std::map<std::string, bool> kModes = {{"fp", false}, {"dwarf", true}};
  command
      .add_option_function<std::string>(
          "--call-graph",
          [&sampling, kModes](const std::string& mode) {
            sampling.callchain = true;
            if (kModes.at(mode)) sampling.stacks = capture::Stacks::kAlways;
          },
          "fp: as -g; dwarf: by unwind tables, --callchain --stacks always")
      ->check(CLI::IsMember(kModes))
      ->type_name("fp|dwarf")
      ->excludes(aggregate);
  for (const Unknown& each : kUnknown) {
    CLI::Option* option =
        each.has_value ? command.add_option_function<std::string>(each.names, [](const std::string&) {})
                       : command.add_flag_callback(each.names, [] {});
    words_.push_back({option->group(kHidden), each.instead});
  }
}

Status PerfWords::check() const {
  for (const Word& word : words_) {
    if (word.option->count() > 0)
      return invalid(fmt::format("{} is an option of perf: {}", word.option->get_name(), word.instead));
  }
  return Ok{};
}

Result<std::int32_t> parse_pid(const std::string& text) {
  std::int32_t pid = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, pid);
  if (problem == std::errc() && rest == end && pid > 0) return pid;
  if (text.find(',') != std::string::npos)
    return invalid(
        fmt::format("-p {}: a recording is of one process; start one for each, with its own -o FILE",
                    text.substr(0, 100)));
  return invalid(fmt::format("-p {}: that is no pid", text.substr(0, 100)));
}

}  // namespace tailor::cli
