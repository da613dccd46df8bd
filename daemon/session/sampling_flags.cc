#include "daemon/session/sampling_flags.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include "daemon/session/overhead_control.h"

namespace tailor::session {
namespace {

const std::map<std::string, bool> kMarksNames = {{"spans", false}, {"all", true}};

std::string percentage_problem(const std::string& text) {
  auto share = parse_percentage(text);
  return share.ok() ? std::string() : share.error().message;
}

// One of the names, in whatever case. CLI11's own transformer for maps shows the values too, as raw bytes.
template <typename Value>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, const std::map<std::string, Value>& names,
                        Value& chosen, const std::string& help) {
  std::vector<std::string> keys;
  for (const auto& [name, value] : names) keys.push_back(name);
  return app
      .add_option_function<std::string>(
          flag, [&names, &chosen](const std::string& name) { chosen = names.at(name); }, help)
      ->transform(CLI::IsMember(keys, CLI::ignore_case))
      ->type_name("NAME");
}

}  // namespace

std::vector<const CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& options) {
  auto* frequency = app.add_option("-F,--frequency", options.frequency,
                                   "Samples a second of CPU time, on average: periods are drawn at random")
                        ->check(CLI::Range(1, 50'000))
                        ->capture_default_str();
  auto* event = app.add_option("-e,--event", options.events,
                               "Presets and events, `tailor events` lists them; NAME@PERIOD sets a period")
                    ->delimiter(',')
                    ->allow_extra_args(false)
                    ->capture_default_str();
  auto* source = add_choice(app, "--source", capture::kSampledByNames, options.sampled_by,
                            "Who takes the samples: auto, bpf or perf (auto: bpf if permitted)");
  auto* stacks =
      add_choice(app, "--stacks", capture::kStacksNames, options.stacks,
                 "Which samples bring a piece of stack, to find tags a library put aside: adaptive (default; "
                 "unknown code without a tag; without BPF every one of a timer up to 5 kHz), none or always");
  auto* aggregate =
      app.add_option_function<double>(
             "--aggregate",
             [&options](double seconds) { options.aggregate = static_cast<TimeNs>(seconds * 1e9); },
             "Add samples up in the kernel for so many seconds, by thread, instruction and tag: less data "
             "and work, but times and executions are known to that only (needs BPF, else one record each)")
          ->check(CLI::Range(0.1, 60.0));
  auto* max_overhead = app.add_option_function<std::string>(
                              "--max-overhead",
                              [&options](const std::string& text) {
                                options.max_overhead = *parse_percentage(text);
                                options.seed = std::random_device{}();
                              },
                              "Sample less often if samples cost a process more of its CPU time: 1%")
                           ->check(percentage_problem)
                           ->excludes(aggregate);
  auto* callchain =
      app.add_flag("--callchain", options.callchain,
                   "Call chains of every sample, for the call graph of code without an agent: by frame "
                   "pointers; with --stacks always by unwind tables, which costs more")
          ->excludes(aggregate);
  auto* memory = app.add_flag("--memory", options.memory,
                              "Registers too, from which the data addresses of instructions are computed")
                     ->excludes(aggregate);
  auto* marks =
      add_choice(app, "--marks", kMarksNames, options.all_marks,
                 "What the profile keeps of the threads' marks: spans (default; what lasts a millisecond "
                 "or longer), or all, every morsel and every change of a region");
  return {frequency, event, source, stacks, aggregate, max_overhead, callchain, memory, marks};
}

}  // namespace tailor::session
