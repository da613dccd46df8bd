// `tailor rate`.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>

#include "daemon/query/time/wall_time.h"
#include "proto/base/errors.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

struct RateOptions {
  std::string rate;
  std::string process = "all";
  std::string lasts;  // empty: until it is changed
};

constexpr const char* kDefault = "default";

template <typename Number>
bool parse_positive(const std::string& text, Number& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size() && out > 0;
}

Status fill(const RateOptions& options, v1::RateRequest& out) {
  std::int32_t pid = 0;
  if (options.process == "all") {
    out.set_all(true);
  } else if (parse_positive(options.process, pid)) {
    out.set_pid(pid);
  } else {
    return invalid(fmt::format("\"{}\" is neither a pid nor all", options.process));
  }
  std::uint32_t frequency = 0;
  if (options.rate != kDefault && !parse_positive(options.rate, frequency))
    return invalid(
        fmt::format("\"{}\" is neither a number of samples per second nor {}", options.rate, kDefault));
  out.set_frequency(frequency);
  if (options.lasts.empty()) return Ok{};
  if (frequency == 0) return invalid("--for goes with a number of samples per second");
  const auto lasts = query::parse_duration(options.lasts);
  if (!lasts) return in_context("--for: ", lasts.error());
  if (*lasts <= 0) return invalid("--for needs a time above zero");
  out.set_for_ns(static_cast<std::uint64_t>(*lasts));
  return Ok{};
}

int run_rate(const RateOptions& options) {
  v1::ControlRequest request;
  v1::RateRequest& rate = *request.mutable_rate();
  if (Status right = fill(options, rate); !right) return complain(right.error());
  const auto reply = ask_daemon(request);
  if (!reply) return complain(reply.error());
  const std::string how =
      rate.frequency() == 0
          ? "at the rate of before"
          : fmt::format("at {} Hz{}", rate.frequency(), options.lasts.empty() ? "" : " for " + options.lasts);
  for (const v1::ProcessRef& process : reply->rate().processes())
    fmt::print("process {}: sampled {}\n", process.pid(), how);
  if (rate.all()) fmt::print("Processes that register now are sampled {}, too.\n", how);
  int code = kOk;
  for (const std::string& problem : reply->rate().problems()) code = complain(unavailable(problem));
  return code;
}

}  // namespace

void add_rate(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("rate", "Samples a process, or all, more or less often while the daemon runs");
  auto options = std::make_shared<RateOptions>();
  command
      .add_option("rate", options->rate,
                  "Samples per second of CPU time, on average; default: back to the rate of before")
      ->type_name("HZ")
      ->required();
  command
      .add_option("-p,--pid", options->process,
                  "The process; all: those that have no rate of their own, also later ones")
      ->type_name("PID")
      ->capture_default_str();
  command.add_option("--for", options->lasts, "For how long: 60s, 5m (default: until it is changed)")
      ->type_name("TIME");
  command.callback([options, &action] { action = [options] { return run_rate(*options); }; });
}

}  // namespace tailor::cli
