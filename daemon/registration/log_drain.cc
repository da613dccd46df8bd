#include "daemon/registration/log_drain.h"

#include <algorithm>
#include <utility>

#include "daemon/registration/ordered_tsc.h"

namespace tailor::registration {

void LogDrain::AddArena(std::uint32_t index, std::shared_ptr<const ArenaView> arena,
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

std::size_t LogDrain::Drain(Sink& sink, std::size_t max_records, std::size_t max_areas) {
  std::size_t records = 0;
  const std::size_t most = std::min(max_areas, areas_.size());
  for (std::size_t looked = 0; looked < most && records < max_records; ++looked) {
    if (next_area_ >= areas_.size()) next_area_ = 0;
    if (const std::size_t untouched = skip_untouched(); untouched > 0) {
      next_area_ += untouched;
      areas_left_ -= std::min(areas_left_, untouched);
      continue;
    }
    records += DrainArea(areas_[next_area_++], sink);
    if (areas_left_ > 0) --areas_left_;
  }
  return records;
}

// How many areas from the next one on were never written.
std::size_t LogDrain::skip_untouched() const {
  const Area& at = areas_[next_area_];
  const Arena& arena = arenas_.find(at.arena)->second;
  if (arena.readers[at.area].began()) return 0;
  return arena.view->NextWritten(at.area) - at.area;
}

std::size_t LogDrain::DrainArea(const Area& at, Sink& sink) {
  Arena& arena = arenas_.find(at.arena)->second;
  LogReader& reader = arena.readers[at.area];
  std::uint64_t malformed = reader.malformed();
  std::size_t records = 0;
  for (LogRun& run : reader.Drain(*arena.view, at.area, OrderedTsc())) {
    clamp(run.records, OrderedTsc());
    records += run.records.size();
    counters_.log_lost += run.lost;
    ActivityRecords event;
    event.process = process_.id();
    event.tid = run.tid == 0 ? 0 : Tid(at.arena, at.area, run.use, run.tid);
    event.records = std::move(run.records);
    event.lost = run.lost;
    sink.OnActivity(std::move(event));
  }
  malformed = reader.malformed() - malformed;
  counters_.log_records += records;
  counters_.log_malformed += malformed;
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

std::int32_t LogDrain::Tid(std::uint32_t arena, std::uint32_t area, std::uint32_t use,
                           std::uint32_t inner_tid) {
  Thread& known = threads_[{arena, area}];
  if (known.use == use && known.inner_tid == inner_tid) return known.tid;
  std::int32_t tid = process_.TranslateTid(inner_tid);
  if (tid == 0) ++counters_.untranslated_tids;
  known = {use, inner_tid, tid};
  return tid;
}

LogPositions LogDrain::TakePositions() {
  LogPositions positions;
  for (auto& [index, arena] : arenas_) positions[index] = std::move(arena.readers);
  arenas_.clear();
  areas_.clear();
  return positions;
}

}  // namespace tailor::registration
