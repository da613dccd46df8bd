#include "viewer/cli/top_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "daemon/profile/blockers.h"
#include "daemon/query/sums/keys.h"
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

// Looks come some times a second, and reach the store a moment later.
constexpr std::uint64_t kNowNs = 5'000'000'000;
constexpr std::size_t kMostHeldUp = 5;

struct HeldUp {
  std::uint64_t waited_ns = 0;
  std::string text;
};

// Times of a file may be any numbers.
std::uint64_t ns_between(TimeNs from, TimeNs to) {
  return to <= from ? 0 : static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

std::string short_id(const ExecutionId& id) {
  return query::hex(id).substr(0, 12);
}

void add_held_up(const store::ExecutionRow& row, std::uint64_t now_wall_ns, const Terminal& terminal,
                 std::vector<HeldUp>& out) {
  const profile::ExecutionRecord& record = row.record;
  if (record.end != kTimeMax || record.blockers == nullptr) return;
  const std::uint64_t runs_ns = now_wall_ns > row.wall_begin_ns ? now_wall_ns - row.wall_begin_ns : 0;
  for (const profile::Blocker& each : record.blockers->seen) {
    const std::uint64_t seen_ns = ns_between(record.begin, each.to);
    if (seen_ns < runs_ns && runs_ns - seen_ns > kNowNs) continue;
    const std::string holder = each.execution == ExecutionId{} ? "which runs no execution that is known"
                                                               : "execution " + short_id(each.execution);
    const std::uint64_t waited_ns = ns_between(each.from, each.to);
    out.push_back({waited_ns, fmt::format("{}, {}: waits for process {}, {}, for {}", short_id(record.id),
                                          escape_line(row.plan_name, terminal.ascii), each.process.pid,
                                          holder, duration(static_cast<double>(waited_ns)))});
  }
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

std::vector<std::string> held_up_lines(const std::vector<store::ExecutionRow>& rows,
                                       std::uint64_t now_wall_ns, const Terminal& terminal) {
  std::vector<HeldUp> all;
  for (const store::ExecutionRow& row : rows) add_held_up(row, now_wall_ns, terminal, all);
  if (all.empty()) return {};
  std::ranges::stable_sort(all, std::ranges::greater{}, &HeldUp::waited_ns);
  std::vector<std::string> lines = {"", "waiting for locks"};
  for (std::size_t i = 0; i < all.size() && i < kMostHeldUp; ++i)
    lines.push_back(cut("  " + all[i].text, terminal.width, terminal.ascii));
  if (all.size() > kMostHeldUp)
    lines.push_back(fmt::format("  {} more", grouped(static_cast<std::uint64_t>(all.size() - kMostHeldUp))));
  return lines;
}

}  // namespace tailor::cli
