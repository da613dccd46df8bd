// Activity over time as rows of blocks (the paper's Figures 7 and 11).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "viewer/cli/render_parts.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kMostNameWidth = 40;

// One row of the picture.
struct Row {
  std::string name;  // escaped
  double weight = 0;
  std::vector<double> weights;  // by bucket
};

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The part of a full bucket as a block. Any activity at all is seen.
std::string_view block(double part, bool ascii) {
  static constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
  const auto level = part <= 0 ? 0L : std::clamp(std::lround(part * 8), 1L, 8L);
  return (ascii ? kAscii : kBlocks)[static_cast<std::size_t>(level)];
}

std::vector<Row> rows_of(const query::TimelineLane& lane, std::size_t most, const Terminal& terminal) {
  std::vector<Row> rows;
  Row rest;
  std::size_t in_rest = 0;
  for (const query::TimelineSeries& series : lane.series) {
    Row row{escape_line(series.owner.name, terminal.ascii), sum(series.weights), series.weights};
    // A plan may have several hash joins.
    if (!series.owner.detail.empty()) row.name += " " + escape_line(series.owner.detail, terminal.ascii);
    // One row more costs as much room as a row that says "1 more".
    if (rows.size() < most || lane.series.size() == most + 1) {
      rows.push_back(std::move(row));
      continue;
    }
    ++in_rest;
    rest.weight += row.weight;
    rest.weights.resize(row.weights.size());
    for (std::size_t i = 0; i < row.weights.size(); ++i) rest.weights[i] += row.weights[i];
  }
  if (in_rest > 0) {
    rest.name = fmt::format("{} more", in_rest);
    rows.push_back(std::move(rest));
  }
  return rows;
}

std::string lane_name(const query::TimelineLane& lane, const Terminal& terminal) {
  const std::string name = escape_line(lane.name, terminal.ascii);
  return lane.kind == query::Lanes::kThread ? fmt::format("thread {}", name) : name;
}

// The most that any bucket of any lane holds: heights of all lanes can be compared.
double fullest_bucket(const query::Timeline& line, std::size_t first) {
  double most = 0;
  for (std::size_t i = first; i < line.lanes.size(); ++i) {
    std::vector<double> whole(line.buckets, 0.0);
    for (const query::TimelineSeries& series : line.lanes[i].series) {
      for (std::size_t b = 0; b < series.weights.size(); ++b) whole[b] += series.weights[b];
    }
    for (double each : whole) most = std::max(most, each);
  }
  return most;
}

// A row of numbers of threads: their mean, and a block that is full where all threads are in it.
std::string row_of_threads(std::string_view name, const std::vector<double>& threads, std::uint64_t all,
                           std::size_t name_width, const Terminal& terminal) {
  std::string blocks;
  for (double each : threads) blocks += block(each / static_cast<double>(all), terminal.ascii);
  while (blocks.ends_with(' ')) blocks.pop_back();
  const double mean = threads.empty() ? 0 : sum(threads) / static_cast<double>(threads.size());
  return "  " + pad(cut(name, name_width - 2, terminal.ascii), name_width - 2) +
         pad_left(fmt::format("{:.1f}", mean), kShareWidth) +
         (blocks.empty() ? "" : "  " + terminal.bar_colour(blocks)) + "\n";
}

// Of one thread the rows of operators say it all.
std::string workers_group(const query::Timeline& line, std::size_t name_width, const Terminal& terminal) {
  if (!line.workers || line.workers->threads < 2) return "";
  const query::WorkersLane& lane = *line.workers;
  std::string out = terminal.bold(cut(fmt::format("{} threads, on average", lane.threads),
                                      name_width + kShareWidth, terminal.ascii)) +
                    "\n" + row_of_threads("working", lane.working, lane.threads, name_width, terminal);
  if (!lane.waiting.empty())
    out += row_of_threads("waiting", lane.waiting, lane.threads, name_width, terminal);
  return out;
}

// "0 ns        45 ms        90 ms" below the blocks.
std::string axis(const query::Timeline& line, TimeNs origin) {
  const std::size_t width = line.buckets;
  std::string text(width, ' ');
  constexpr std::size_t kEvery = 20;
  const std::size_t ticks = std::max<std::size_t>(1, width / kEvery);
  for (std::size_t i = 0; i < ticks; ++i) {
    const std::size_t at = i * width / ticks;
    const std::string label =
        "|" + duration(static_cast<double>(line.from - origin) + line.bucket_ns * static_cast<double>(at));
    text.replace(at, std::min(label.size(), width - at), label.substr(0, width - at));
  }
  return text;
}

}  // namespace

std::size_t timeline_buckets(const Terminal& terminal) {
  const std::size_t beside = std::min(kMostNameWidth, terminal.width / 3) + kShareWidth + 4;
  return std::clamp<std::size_t>(terminal.width - std::min(terminal.width - 10, beside), 10,
                                 query::kMaxBuckets);
}

std::string render(const serve::View& view, const query::Timeline& line, const Terminal& terminal,
                   std::size_t most_rows) {
  // A single lane is the same as all of them.
  const std::size_t first = line.lanes.size() > 2 ? 1 : line.lanes.size() - 1;
  const double full = fullest_bucket(line, first);
  const std::size_t name_width = std::min(kMostNameWidth, terminal.width / 3);
  std::string out;
  if (const auto report = query::plan_report(view.profile, view.selection); report.ok())
    out = notices(view.profile, *report, terminal);
  out += wrap(fmt::format("{}, {} from {} to {}; one column is {}, a full block {}",
                          weight_text(line.weight, line.source), samples_text(line.samples),
                          duration(static_cast<double>(line.from - view.origin)),
                          duration(static_cast<double>(line.to - view.origin)), duration(line.bucket_ns),
                          weight_text(full, line.source)),
              terminal.width, 0) +
         "\n\n";
  out += workers_group(line, name_width, terminal);
  for (std::size_t i = first; i < line.lanes.size(); ++i) {
    const query::TimelineLane& lane = line.lanes[i];
    const std::string name = pad(cut(lane_name(lane, terminal), name_width, terminal.ascii), name_width);
    out += terminal.bold(name +
                         pad_left(percent(line.weight > 0 ? lane.weight / line.weight : 0), kShareWidth)) +
           "\n";
    for (const Row& row : rows_of(lane, most_rows, terminal)) {
      std::string blocks;
      for (double each : row.weights) blocks += block(full > 0 ? each / full : 0, terminal.ascii);
      while (blocks.ends_with(' ')) blocks.pop_back();
      out += "  " + pad(cut(row.name, name_width - 2, terminal.ascii), name_width - 2) +
             pad_left(percent(line.weight > 0 ? row.weight / line.weight : 0), kShareWidth);
      out += (blocks.empty() ? "" : "  " + terminal.bar_colour(blocks)) + "\n";
    }
  }
  std::string times = axis(line, view.origin);
  while (times.ends_with(' ')) times.pop_back();
  return out + std::string(name_width + kShareWidth + 2, ' ') + terminal.dim(times) + "\n";
}

}  // namespace tailor::cli
