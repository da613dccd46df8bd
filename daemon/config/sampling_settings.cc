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
#define TAILOR_MEMBER(name) ([](auto& options) -> auto& { return options.name; })

Setting<SamplingOptions> aggregate() {
  return setting<SamplingOptions>(
      "aggregate", "--aggregate", TAILOR_MEMBER(aggregate),
      [](CLI::App& app, const std::string& flags, SamplingOptions& options) {
        return app
            .add_option_function<double>(
                flags, [&options](double seconds) { options.aggregate = static_cast<TimeNs>(seconds * 1e9); },
                "Add samples up in the kernel, by thread, instruction, tag and state, over intervals of this "
                "number "
                "of seconds. This gives less data and work, but times and executions are known only to the "
                "interval. Needs BPF; without BPF each sample is a record")
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
                "Sample less often if samples would cost a process more than this share of its CPU time: 1%")
            ->check(percentage_problem);
      });
}

std::string share_problem(const std::string& text) {
  auto share = parse_share(text);
  return share.ok() ? std::string() : share.error().message;
}
std::string share_above_0_problem(const std::string& text) {
  return text == "0" ? "no execution would be sampled: 1/8, 12.5% or all" : share_problem(text);
}

// A share of the executions.
template <typename Get>
Setting<SamplingOptions> share(std::string key, std::string flags, Get get, std::string help,
                               std::string (*problem)(const std::string&),
                               TakesEffect takes_effect = TakesEffect::kAtRestart) {
  return setting<SamplingOptions>(
      std::move(key), std::move(flags), get,
      [get, help = std::move(help), problem](CLI::App& app, const std::string& names,
                                             SamplingOptions& options) {
        return app
            .add_option_function<std::string>(
                names, [get, &options](const std::string& text) { get(options) = *parse_share(text); }, help)
            ->check(problem)
            ->type_name("SHARE");
      },
      takes_effect);
}

Settings<SamplingOptions> table() {
  using Options = SamplingOptions;
  Settings<Options> all = {
      value<Options>("frequency", "-F,--frequency", TAILOR_MEMBER(frequency),
                     "Samples per second of CPU time, on average; periods are drawn at random",
                     [](CLI::Option& option) { option.check(CLI::Range(1, 50'000))->capture_default_str(); }),
      value<Options>(
          "event", "-e,--event", TAILOR_MEMBER(events),
          "Presets and events (`tailor events` lists them); NAME@PERIOD sets a period",
          [](CLI::Option& option) { option.delimiter(',')->allow_extra_args(false)->capture_default_str(); }),
      choice<Options>("sampler", "--sampler", TAILOR_MEMBER(sampled_by), capture::kSampledByNames,
                      "Who takes the samples: auto, bpf or perf (auto: bpf if permitted)"),
      choice<Options>(
          "stacks", "--stacks", TAILOR_MEMBER(stacks), capture::kStacksNames,
          "Which samples bring a piece of the stack, to find tags that a library saved there: adaptive "
          "(default: samples in unknown code without a tag; without BPF, all samples of timers up to 5 kHz), "
          "none or always"),
      aggregate(),
      max_overhead(),
      share("sample-executions", "--sample-executions", TAILOR_MEMBER(sampled_executions),
            "Sample only this share of the executions, drawn by their identity: 1/8 or 12.5% (default: all). "
            "What runs outside of executions stays sampled",
            share_above_0_problem),
      share("untagged-executions", "--untagged-executions", TAILOR_MEMBER(untagged_executions),
            "Ask engines to run this share of the executions without tags, to measure what tags cost "
            "(`tailor ab`): 1/100 or 1% (default: 0)",
            share_problem, TakesEffect::kAtRunTime),
      flag<Options>(
          "callchain", "--callchain", TAILOR_MEMBER(callchain),
          "Record the call chain of every sample, for the call graph of code without an agent. It is "
          "walked by frame pointers; with --stacks always by unwind tables, which costs more"),
      flag<Options>("memory", "--memory", TAILOR_MEMBER(memory),
                    "Record registers too, to compute the data addresses of instructions"),
      choice<Options>("marks", "--marks", TAILOR_MEMBER(all_marks), kMarksNames,
                      "Which marks of threads the profile keeps: spans (default: those that last a "
                      "millisecond or longer), or all (every morsel and every change of a region)"),
  };
  for (Setting<Options>& each : all) {
    // A sum of samples has one time, and that does not tell of which executions they were.
    if (each.key == "max-overhead" || each.key == "callchain" || each.key == "memory" ||
        each.key == "sample-executions")
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
