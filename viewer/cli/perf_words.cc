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

constexpr Unknown kOfRecord[] = {
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

constexpr const char* kAlwaysText = "a report is text, in a pager on a terminal: leave it out";
constexpr const char* kSelfAndTotal = "tailor report --level function shows self and total: leave it out";

constexpr Unknown kOfReport[] = {
    {"-i,--input", true, "the file has no option before it: type tailor report FILE"},
    {"-s,--sort", true,
     "operators are in the order of the plan, functions by self: type --level function. tailor timeline "
     "--lanes thread shows threads, and tailor sql sorts by anything"},
    {"-F,--fields", true, "the columns are fixed. tailor sql and --json have all columns"},
    {"--stdio", false, kAlwaysText},
    {"--tui", false, kAlwaysText},
    {"--gtk", false, kAlwaysText},
    {"-g,--call-graph", false, "type --level function: it shows the call graph below the functions"},
    {"--children", false, kSelfAndTotal},
    {"--no-children", false, kSelfAndTotal},
    {"-n,--show-nr-samples", false, "a report always shows the samples: leave it out"},
    {"--percent-limit", true, "type --level function --least SHARE, as --least 0.01 for 1 %"},
    {"--comm,--comms", true, "type --process NAME for the executions of a process, or --pid PID"},
    {"--tid", true, "tailor timeline, flame and memory show one thread with --thread TID"},
    {"-S,--symbols", true, "type --level function --limit N: it lists functions"},
    {"-d,--dsos", true, "type --level function: it adds up functions by library"},
    {"--header", false, "tailor report --json has the facts of the recording under \"recording\""},
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
  for (const Unknown& each : kOfRecord) add(command, each.names, each.has_value, each.instead);
}

PerfWords PerfWords::of_report(CLI::App& command) {
  PerfWords words;
  for (const Unknown& each : kOfReport) words.add(command, each.names, each.has_value, each.instead);
  return words;
}

void PerfWords::add(CLI::App& command, const char* names, bool has_value, const char* instead) {
  CLI::Option* option = has_value ? command.add_option_function<std::string>(names, [](const std::string&) {})
                                  : command.add_flag_callback(names, [] {});
  words_.push_back({option->group(kHidden), names, instead});
}

Status PerfWords::check() const {
  for (const Word& word : words_) {
    if (word.option->count() > 0)
      return invalid(fmt::format("{} is an option of perf: {}", word.names, word.instead));
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
