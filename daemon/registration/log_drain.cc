#include "daemon/registration/log_drain.h"

#include <algorithm>
#include <utility>

#include "daemon/registration/ordered_tsc.h"

namespace tailor::registration {

void LogDrain::add_arena(std::uint32_t index, std::shared_ptr<const ArenaView> arena,
                         std::vector<LogReader> resume, std::uint64_t since) {
  const bool fresh = resume.empty();
  resume.resize(arena->area_count());
  for (std::uint32_t area = 0; area < arena->area_count(); ++area) {
    areas_.push_back({index, area});
    if (fresh) resume[area].written_since(since);
  }
  arenas_[index] = {std::move(arena), std::move(resume)};
  begin_pass();
}

const ArenaView* LogDrain::first_arena() const {
  auto first = arenas_.find(0);
  return first == arenas_.end() ? nullptr : first->second.view.get();
}

std::size_t LogDrain::drain(Sink& sink, std::size_t max_records, std::size_t max_areas) {
  std::size_t records = 0, looked = 0, left = areas_.size();
  while (left > 0 && looked < max_areas && records < max_records) {
    if (next_area_ >= areas_.size()) next_area_ = 0;
    ++looked;
    const std::size_t untouched = skip_untouched();
    if (untouched == 0) records += drain_area(areas_[next_area_], sink);
    const std::size_t passed = std::max<std::size_t>(untouched, 1);
    next_area_ += passed;
    left -= std::min(left, passed);
    areas_left_ -= std::min(areas_left_, passed);
  }
  return records;
}

// How many areas from the next one on were never written.
std::size_t LogDrain::skip_untouched() const {
  const Area& at = areas_[next_area_];
  const Arena& arena = arenas_.find(at.arena)->second;
  if (arena.readers[at.area].began()) return 0;
  return arena.view->next_written(at.area) - at.area;
}

std::uint32_t LogDrain::least_log() const {
  std::uint32_t least = UINT32_MAX;
  for (const auto& [index, arena] : arenas_) least = std::min(least, arena.view->log_capacity());
  return least;
}

std::size_t LogDrain::drain_area(const Area& at, Sink& sink) {
  Arena& arena = arenas_.find(at.arena)->second;
  LogReader& reader = arena.readers[at.area];
  std::uint64_t malformed = reader.malformed();
  std::size_t records = 0;
  for (LogRun& run : reader.drain(*arena.view, at.area, ordered_tsc())) {
    clamp(run.records, ordered_tsc());
    records += run.records.size();
    counters_.log_lost += run.lost;
    ActivityRecords event;
    event.process = process_.id();
    event.tid = run.tid == 0 ? 0 : tid(at.arena, at.area, run.use, run.tid);
    event.records = std::move(run.records);
    event.lost = run.lost;
    sink.on_activity(std::move(event));
  }
  malformed = reader.malformed() - malformed;
  counters_.log_records += records;
  counters_.log_malformed += malformed;
  const double filled = static_cast<double>(records) / arena.view->log_capacity();
  fullest_ = std::max(fullest_, std::min(filled, 1.0));
  return records + malformed;
}

// A mark from the future would stay until then.
void LogDrain::clamp(std::vector<tailor_log_record>& records, std::uint64_t now) {
  for (tailor_log_record& record : records) {
    if (record.tsc <= now) continue;
    record.tsc = now;
    ++counters_.future_times;
  }
}

std::int32_t LogDrain::tid(std::uint32_t arena, std::uint32_t area, std::uint32_t use,
                           std::uint32_t inner_tid) {
  Thread& known = threads_[{arena, area}];
  if (known.use == use && known.inner_tid == inner_tid) return known.tid;
  std::int32_t tid = process_.translate_tid(inner_tid);
  if (tid == 0) ++counters_.untranslated_tids;
  known = {use, inner_tid, tid};
  return tid;
}

LogPositions LogDrain::take_positions() {
  LogPositions positions;
  for (auto& [index, arena] : arenas_) positions[index] = std::move(arena.readers);
  arenas_.clear();
  areas_.clear();
  return positions;
}

}  // namespace tailor::registration
