#include "daemon/serve/stored_sums.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/serve/summarise.h"
#include "daemon/store/file_io.h"
#include "daemon/store/store_directory.h"

namespace tailor::serve {
namespace {

// Files may have been removed since the catalogue was read; those that were given up were not there before.
bool lacks_more_than_given_up(std::span<const store::SegmentRow> rows, const Summarised& summarised) {
  return std::ranges::any_of(rows, [&](const store::SegmentRow& row) {
    return !row.given_up() && std::ranges::find(summarised.missing, row.number) != summarised.missing.end();
  });
}

// Files that the catalogue knows are not there: what they held is lost, and told so.
void count_missing(std::span<const store::SegmentRow> rows, Summarised& summarised) {
  for (const store::SegmentRow& row : rows) {
    if (std::ranges::find(summarised.missing, row.number) == summarised.missing.end()) continue;
    summarised.summary.losses[static_cast<store::Hour>(row.wall_ns / store::kHourNs)].unwritten +=
        row.samples;
  }
}

struct Hours {
  store::Hour first = 0, last = 0;
  // Whether they touch this row.
  bool touch(const store::Summary& summary, store::Hour hour) const {
    return hour + summary.hours_of_row(hour) > first && hour <= last;
  }
};

Hours hours_of(const store::WallRange& range) {
  return {static_cast<store::Hour>(range.since_ns / store::kHourNs),
          static_cast<store::Hour>((range.until_ns - (range.until_ns > 0 ? 1 : 0)) / store::kHourNs)};
}

void add_hours(store::Summary& to, store::Summary from, const Hours& hours) {
  std::erase_if(from.costs, [&](const auto& each) { return !hours.touch(from, each.first.hour); });
  std::erase_if(from.runs, [&](const auto& each) { return !hours.touch(from, each.first.hour); });
  std::erase_if(from.losses, [&](const auto& each) { return !hours.touch(from, each.first); });
  store::add(to, from);
}

// Data segments that are not summed up and may hold samples of these hours.
std::vector<store::SegmentRow> rows_within(const std::vector<store::SegmentRow>& all,
                                           std::uint64_t summed_up_to, const Hours& hours) {
  std::vector<store::SegmentRow> rows;
  for (const store::SegmentRow& row : all) {
    if (row.kind == store::FileKind::kDataSegment && row.number > summed_up_to) rows.push_back(row);
  }
  // A segment has the time of its beginning; it ends where the next one begins. An hour of room: clocks are
  // set.
  const auto hour_of = [](const store::SegmentRow& row) {
    return static_cast<store::Hour>(row.wall_ns / store::kHourNs);
  };
  while (!rows.empty() && hour_of(rows.back()) > hours.last + 1) rows.pop_back();
  std::size_t before = 0;
  while (before + 1 < rows.size() && hour_of(rows[before + 1]) + 1 < hours.first) ++before;
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(before));
  return rows;
}

// Nothing where the store changed meanwhile so that something may be missing. `last_try`: then it is missing.
Result<std::optional<store::Summary>> try_to_sum(const std::string& directory, const Hours& hours,
                                                 bool last_try, const Stop& stop,
                                                 query::StoreDamage& damage) {
  auto catalogue = store::Catalogue::open(store::catalogue_path(directory), store::Catalogue::Mode::kRead);
  if (!catalogue) return catalogue.error();
  // In this order: what is removed in between is summed up by then.
  auto all = catalogue->segments();
  if (!all) return all.error();
  auto files = store::list_summaries(directory);
  if (!files) return files.error();
  store::Summary sum;
  for (const store::SummaryFile& file : *files) {
    if (stop.stopped()) return stop.error();
    auto summary = store::read_summary(directory, file);
    if (!summary && summary.error().code == ENOENT && !last_try) return std::optional<store::Summary>();
    if (!summary) return summary.error();
    add_hours(sum, std::move(*summary), hours);
  }
  const std::vector<store::SegmentRow> rows = rows_within(*all, store::summed_up_to(*files), hours);
  for (std::span<const store::SegmentRow> rest = rows; !rest.empty();) {
    const auto batch = rest.first(one_batch(rest));
    rest = rest.subspan(batch.size());
    auto summarised = summarise(directory, *catalogue, batch, stop);
    if (!summarised) return summarised.error();
    if (lacks_more_than_given_up(batch, *summarised) && !last_try) return std::optional<store::Summary>();
    damage.add(summarised->read, summarised->loss);
    count_missing(batch, *summarised);
    add_hours(sum, std::move(summarised->summary), hours);
  }
  return std::optional(std::move(sum));
}

}  // namespace

Result<std::uint64_t> sum_up(const std::string& directory, std::span<const store::SegmentRow> due,
                             store::SummaryWriter& writer, const store::SummaryRetention& retention,
                             const Stop& stop) {
  auto files = store::list_summaries(directory);
  if (!files) return files.error();
  // The last attempt may have failed after its file was there.
  if (const std::uint64_t done = store::summed_up_to(*files); done >= due.front().number) {
    if (Status durable = store::sync_directory(directory, writer.files()); !durable) return durable.error();
    return done;
  }
  const auto batch = due.first(one_batch(due));
  auto catalogue = store::Catalogue::open(store::catalogue_path(directory), store::Catalogue::Mode::kRead);
  if (!catalogue) return catalogue.error();
  auto summarised = summarise(directory, *catalogue, batch, stop);
  if (!summarised) return summarised.error();
  store::Summary& summary = summarised->summary;
  count_missing(batch, *summarised);
  if (Status put = writer.put(store::bounded(summary), retention); !put) return put.error();
  return summary.last;
}

Result<store::Summary> sums_of_store(const std::string& directory, const store::WallRange& range,
                                     const Stop& stop, query::StoreDamage* damage) {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    query::StoreDamage found;
    auto sum = try_to_sum(directory, hours_of(range), tries == kTries, stop, found);
    if (!sum) return sum.error();
    if (!*sum) continue;
    if (damage != nullptr) *damage = std::move(found);
    return std::move(**sum);
  }
}

}  // namespace tailor::serve
