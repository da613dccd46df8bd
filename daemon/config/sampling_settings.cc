#include "daemon/config/sampling_settings.h"

#include <random>

#include "daemon/config/percentage.h"

namespace tailor::config {
namespace {

const std::map<std::string, bool> kMarksNames = {{"spans", false}, {"all", true}};

std::string percentage_problem(const std::string& text) {
  auto share = parse_percentage(text);
  return share.ok() ? std::string() : share.error().message;
}

// Gives a member, of options that may be changed or not.
#define TAILOR_MEMBER(name) [](auto& options) -> auto& { return options.name; }

Setting<SamplingOptions> aggregate() {
  return setting<SamplingOptions>(
      "aggregate", "--aggregate", TAILOR_MEMBER(aggregate),
      [](CLI::App& app, const std::string& flags, SamplingOptions& options) {
        return app
            .add_option_function<double>(
                flags, [&options](double seconds) { options.aggregate = static_cast<TimeNs>(seconds * 1e9); },
                "Add samples up in the kernel for this number of seconds, by thread, instruction and tag: "
                "less "
                "data and work, but times and executions are known to that only (needs BPF, else one record "
                "each)")
            ->check(CLI::Range(0.1, 60.0));
      });
}

// Periods are drawn with a seed of their own each time.
Setting<SamplingOptions> max_overhead() {
  return setting<SamplingOptions>(
      "max-overhead", "--max-overhead", TAILOR_MEMBER(max_overhead),
      [](CLI::App& app, const std::string& flags, SamplingOptions& options) {
        return app
            .add_option_function<std::string>(
                flags,
                [&options](const std::string& text) {
                  options.max_overhead = *parse_percentage(text);
                  options.seed = std::random_device{}();
                },
                "Sample less often if samples cost a process more of its CPU time: 1%")
            ->check(percentage_problem);
      });
}

Settings<SamplingOptions> table() {
  using Options = SamplingOptions;
  Settings<Options> all = {
      value<Options>("frequency", "-F,--frequency", TAILOR_MEMBER(frequency),
                     "Samples a second of CPU time, on average: periods are drawn at random",
                     [](CLI::Option& option) { option.check(CLI::Range(1, 50'000))->capture_default_str(); }),
      value<Options>(
          "event", "-e,--event", TAILOR_MEMBER(events),
          "Presets and events, `tailor events` lists them; NAME@PERIOD sets a period",
          [](CLI::Option& option) { option.delimiter(',')->allow_extra_args(false)->capture_default_str(); }),
      choice<Options>("sampler", "--sampler", TAILOR_MEMBER(sampled_by), capture::kSampledByNames,
                      "Who takes the samples: auto, bpf or perf (auto: bpf if permitted)"),
      choice<Options>(
          "stacks", "--stacks", TAILOR_MEMBER(stacks), capture::kStacksNames,
          "Which samples bring a piece of stack, to find tags a library put aside: adaptive (default; "
          "unknown code without a tag; without BPF every one of a timer up to 5 kHz), none or always"),
      aggregate(),
      max_overhead(),
      flag<Options>("callchain", "--callchain", TAILOR_MEMBER(callchain),
                    "Call chains of every sample, for the call graph of code without an agent: by frame "
                    "pointers; with --stacks always by unwind tables, which costs more"),
      flag<Options>("memory", "--memory", TAILOR_MEMBER(memory),
                    "Registers too, from which the data addresses of instructions are computed"),
      choice<Options>("marks", "--marks", TAILOR_MEMBER(all_marks), kMarksNames,
                      "What the profile keeps of the threads' marks: spans (default; what lasts a "
                      "millisecond or longer), or all, every morsel and every change of a region"),
  };
  for (Setting<Options>& each : all) {
    if (each.key == "max-overhead" || each.key == "callchain" || each.key == "memory")
      each.excludes = {"aggregate"};
  }
  return all;
}

#undef TAILOR_MEMBER

}  // namespace

const Settings<SamplingOptions>& sampling_settings() {
  static const Settings<SamplingOptions> all = table();
  return all;
}

}  // namespace tailor::config
