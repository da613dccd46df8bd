#include "daemon/query/reports/executions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/load/recording_chain.h"
#include "daemon/query/sums/keys.h"
#include "daemon/store/store_reader.h"

namespace tailor::query {

namespace {

// The time in which executions ran, by the clock of their recording.
struct Span {
  TimeNs from = kTimeMax, to = kTimeMin;

  void add(const profile::ExecutionRecord& execution) {
    from = std::min(from, execution.begin);
    to = std::max(to, execution.end);
  }
};
using Spans = std::map<store::RecordingNumber, Span>;

// Times in which any of the executions of a recording ran. Add all before the first question.
class RunTimes {
 public:
  void add(const profile::ExecutionRecord& execution) { times_.emplace_back(execution.begin, execution.end); }
  // Joins what overlaps, so that the last time that begins early enough is the one to look at.
  void join() {
    std::ranges::sort(times_);
    std::vector<Time> joined;
    for (const Time& time : times_) {
      if (joined.empty() || time.first > joined.back().second) {
        joined.push_back(time);
      } else {
        joined.back().second = std::max(joined.back().second, time.second);
      }
    }
    times_ = std::move(joined);
  }
  bool touch(TimeNs first, TimeNs last) const {
    const auto next = std::ranges::upper_bound(times_, last, {}, &Time::first);
    return next != times_.begin() && std::prev(next)->second >= first;
  }

 private:
  using Time = std::pair<TimeNs, TimeNs>;
  std::vector<Time> times_;
};
using Segments = std::map<store::RecordingNumber, std::set<std::uint64_t>>;

// The data segments that can hold something of the executions: those of the times in which one of them ran,
// and each time the next one, which may say that it ended. Runs of a query lie far apart in a big store.
Result<Segments> segments_of(const store::Catalogue& catalogue, std::span<const store::ExecutionRow> rows) {
  std::map<store::RecordingNumber, RunTimes> times;
  for (const store::ExecutionRow& row : rows) times[row.recording].add(row.record);
  for (auto& [recording, ran] : times) ran.join();
  const auto all = catalogue.segments();
  if (!all) return all.error();
  std::map<store::RecordingNumber, std::vector<store::SegmentRow>> data;
  for (const store::SegmentRow& row : *all) {
    if (row.kind == store::FileKind::kDataSegment && times.contains(row.recording))
      data[row.recording].push_back(row);
  }
  Segments chosen;
  for (const auto& [recording, segments] : data) {
    bool touched = false;  // the one before
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const store::SegmentRow& row = segments[i];
      // Of one at work the catalogue knows a part only.
      const bool unknown = !row.sealed || row.first > row.last;
      // Between the samples of two, either may tell of an execution.
      const TimeNs from = i == 0 ? kTimeMin : std::min(row.first, segments[i - 1].last);
      const TimeNs to = i + 1 == segments.size() ? kTimeMax : std::max(row.last, segments[i + 1].first);
      const bool touches = unknown || times.at(recording).touch(from, to);
      if (touches || touched) chosen[recording].insert(row.number);
      touched = touches;
    }
  }
  return chosen;
}

Result<LoadedExecutions> load_one(const std::string& directory, const store::Catalogue& catalogue,
                                  std::span<const store::ExecutionRow> rows, const Span& span,
                                  const LoadOptions& options) {
  LoadOptions range = options;
  range.from = span.from;
  range.to = span.to;
  Selection selection;
  for (const store::ExecutionRow& row : rows)
    selection.executions.insert({row.record.process, row.record.handle});
  const store::RecordingNumber recording = rows.front().recording;
  auto segments = segments_of(catalogue, rows);
  if (!segments) return segments.error();
  auto profile = Profile::load_from(range, [&](ProfileLoader& loader) {
    return store::read_store(directory, catalogue, {recording, span.from, span.to, (*segments)[recording]},
                             loader, loader.read_report(), loader.said_loss(),
                             asked_after_blocks(loader, options.stop), &loader);
  });
  if (!profile.ok()) return profile.error();
  return LoadedExecutions{std::move(*profile), std::move(selection)};
}

Result<LoadedExecutions> load_several(const std::string& directory, const store::Catalogue& catalogue,
                                      std::span<const store::ExecutionRow> rows, const Spans& spans,
                                      const LoadOptions& options) {
  std::vector<store::RecordingNumber> numbers;
  for (const auto& [number, span] : spans) numbers.push_back(number);
  auto chain = chain_recordings(directory, catalogue, numbers, options.functions, options.stop);
  if (!chain) return chain.error();
  if (chain->links.empty()) return not_found("the store no longer holds what these executions did");
  LoadOptions range = options;
  range.from = kTimeMax;
  range.to = kTimeMin;
  std::map<store::RecordingNumber, const ChainLink*> links;
  for (const ChainLink& link : chain->links) {
    links[link.number] = &link;
    range.from = std::min(range.from, link.time(spans.at(link.number).from));
    range.to = std::max(range.to, link.time(spans.at(link.number).to));
  }
  Selection selection;
  std::map<Unchained, std::size_t> left_out;
  for (const store::ExecutionRow& row : rows) {
    if (const auto link = links.find(row.recording); link != links.end()) {
      selection.executions.insert({link->second->process(row.record.process), row.record.handle});
    } else {
      ++left_out[chain->left_out.at(row.recording)];
    }
  }
  auto segments = segments_of(catalogue, rows);
  if (!segments) return segments.error();
  auto profile = Profile::load_from(range, [&](ProfileLoader& loader) -> Status {
    RecordingChain whole(chain->links, loader);
    for (const ChainLink& link : chain->links) {
      whole.enter(link);
      const Span& span = spans.at(link.number);
      Status read = store::read_store(
          directory, catalogue, {link.number, span.from, span.to, (*segments)[link.number]}, whole,
          loader.read_report(), loader.said_loss(), asked_after_blocks(loader, options.stop), &whole);
      if (!read) return read;
    }
    whole.finish();
    return Ok{};
  });
  if (!profile) return profile.error();
  return LoadedExecutions{std::move(*profile), std::move(selection), std::move(left_out)};
}

}  // namespace

Result<LoadedExecutions> load_executions(const std::string& directory, const store::Catalogue& catalogue,
                                         std::span<const store::ExecutionRow> rows,
                                         const LoadOptions& options) {
  Spans spans;
  for (const store::ExecutionRow& row : rows) spans[row.recording].add(row.record);
  if (spans.size() == 1) return load_one(directory, catalogue, rows, spans.begin()->second, options);
  return load_several(directory, catalogue, rows, spans, options);
}

Result<std::vector<store::ExecutionRow>> find_executions(const store::Catalogue& catalogue,
                                                         std::span<const ExecutionId> ids) {
  std::vector<store::ExecutionRow> rows;
  for (const ExecutionId& id : ids) {
    auto found = catalogue.find_executions(hex(id));
    if (!found.ok()) return found.error();
    if (found->empty()) return not_found(fmt::format("no execution {} is known", hex(id)));
    rows.push_back(std::move(found->front()));
  }
  return rows;
}

}  // namespace tailor::query
