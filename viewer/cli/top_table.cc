#include "viewer/cli/top_table.h"

#include <fmt/format.h>

#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// The column that rows are ordered by has a sign.
std::string heading(std::string_view text, bool ordered) {
  return (ordered ? "*" : "") + std::string(text);
}

// The mean of the runs that have ended; where none has, how long the oldest has run at least.
std::string elapsed_text(const TopQuery& query, const Terminal& terminal) {
  if (query.running + query.untimed < query.executions) return duration(query.mean_elapsed_ns);
  if (query.running == 0) return "?";
  return at_least(duration(query.running_longest_ns), terminal.ascii);
}

// Where a share of the runs is sampled, nobody knows what the others cost.
std::string cost_of(const TopQuery& query, const std::string& text, const Terminal& terminal) {
  return query.drawn < query.executions ? at_least(text, terminal.ascii) : text;
}

}  // namespace

std::vector<TopQuery> top_queries(const query::Json& answer) {
  std::vector<TopQuery> out;
  for (const query::Json& each : answer.at("fingerprints")) {
    out.push_back({each.at("fingerprint"), each.at("name"), each.at("text"), each.at("executions"),
                   each.at("cpu_ns"), each.at("elapsed_ns").at("mean"), each.at("running"),
                   each.at("running_longest_ns"), each.at("elapsed_ns").value("unknown", std::uint64_t{0}),
                   each.at("drawn")});
  }
  return out;
}

std::vector<std::string> top_lines(const std::vector<TopQuery>& queries, double window_ns, TopOrder order,
                                   const Terminal& terminal) {
  constexpr std::size_t kCores = 8, kCpu = 11, kRuns = 12, kElapsed = 11;
  std::vector<std::string> lines = {
      pad_left("cores", kCores) + pad_left(heading("CPU", order == TopOrder::kCpu), kCpu) +
      pad_left(heading("runs", order == TopOrder::kExecutions), kRuns) +
      pad_left(heading("mean", order == TopOrder::kElapsed), kElapsed) + "  query"};
  for (const TopQuery& each : queries) {
    std::string name = escape_line(each.name, terminal.ascii);
    if (const std::string text = sql_line(each.text, terminal.ascii); !text.empty())
      name += (name.empty() ? "" : ": ") + text;
    const std::string cores = fmt::format("{:.2f}", each.cpu_ns / window_ns);
    const std::string line = pad_left(cost_of(each, cores, terminal), kCores) +
                             pad_left(cost_of(each, duration(each.cpu_ns), terminal), kCpu) +
                             pad_left(grouped(each.executions), kRuns) +
                             pad_left(elapsed_text(each, terminal), kElapsed) + "  " + name;
    lines.push_back(cut(line, terminal.width, terminal.ascii));
  }
  return lines;
}

}  // namespace tailor::cli
