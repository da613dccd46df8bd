#include "viewer/cli/execution_filter.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "daemon/query/time/wall_time.h"

namespace tailor::cli {
namespace {

Error of_option(const char* option, const Error& error) {
  return invalid(fmt::format("{}: {}", option, error.message));
}

// A name may have digits, but is no number.
std::optional<std::int32_t> pid_of(const std::string& text) {
  std::int32_t pid = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (problem != std::errc() || end != text.data() + text.size() || pid < 0) return std::nullopt;
  return pid;
}

bool is_fingerprint(const std::string& text) {
  return text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
}

Status add_times(const FilterOptions& options, std::uint64_t now_ns, serve::ExecutionFilter& filter) {
  if (!options.since.empty()) {
    auto since = query::parse_time(options.since, now_ns, query::Repeated::kFirst);
    if (!since) return of_option("--since", since.error());
    filter.since_ns = *since;
  }
  if (!options.until.empty()) {
    auto until = query::parse_time(options.until, now_ns, query::Repeated::kSecond);
    if (!until) return of_option("--until", until.error());
    filter.until_ns = *until;
  }
  if (filter.since_ns && filter.until_ns && *filter.since_ns >= *filter.until_ns)
    return invalid(fmt::format("--until ({}) is not after --since ({})", query::rfc3339(*filter.until_ns),
                               query::rfc3339(*filter.since_ns)));
  return Ok{};
}

}  // namespace

void add_filter(CLI::App& command, FilterOptions& options) {
  command.add_option("--since", options.since,
                     "Only executions that began at this time or later: 14:00, \"yesterday 14:00\", "
                     "2026-01-31T14:00, each also with a zone (Z, +02:00), or -10m");
  command.add_option("--until", options.until, "Only executions that began before this time, as --since");
  command.add_option("--process", options.process,
                     "Only executions of this process: its pid, its name or the name of its engine");
  command
      .add_option("--cgroup", options.cgroup,
                  "Only executions of processes in this cgroup or below it: \"/system.slice\", a pattern "
                  "(\"*burstable*\"), or the start of a pod's uid or of a container's id")
      ->type_name("PATH or PATTERN");
  command
      .add_option("--label", options.labels,
                  "Only executions with this label; may be repeated, then all labels must fit")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--fingerprint", options.fingerprint,
                     "Only runs of this query (`tailor list --json` has the fingerprints)");
  command.add_option("--longer-than", options.longer_than,
                     "Only executions that ended and took this long or longer: 500ms, 1.5s, 2m");
}

Result<serve::ExecutionFilter> execution_filter(const FilterOptions& options, std::uint64_t now_ns) {
  serve::ExecutionFilter filter;
  if (Status times = add_times(options, now_ns, filter); !times) return times.error();
  filter.pid = pid_of(options.process);
  if (!filter.pid) filter.process_name = options.process;
  filter.cgroup = options.cgroup;
  for (const std::string& label : options.labels) {
    const std::size_t equal = label.find('=');
    if (equal == std::string::npos || equal == 0)
      return invalid(fmt::format("--label: a label is given as KEY=VALUE, not as \"{}\"", label));
    filter.labels.emplace_back(label.substr(0, equal), label.substr(equal + 1));
  }
  if (!is_fingerprint(options.fingerprint))
    return invalid(
        fmt::format("--fingerprint: \"{}\" is none; `tailor list --json` has them", options.fingerprint));
  filter.fingerprint = options.fingerprint;
  if (!options.longer_than.empty()) {
    auto least = query::parse_duration(options.longer_than);
    if (!least) return of_option("--longer-than", least.error());
    filter.min_elapsed_ns = *least;
  }
  return filter;
}

store::WallRange range_of(const serve::ExecutionFilter& filter) {
  return {filter.since_ns.value_or(0), filter.until_ns.value_or(INT64_MAX)};
}

}  // namespace tailor::cli
