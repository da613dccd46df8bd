#include "daemon/registration/log_drain.h"

#include <utility>

namespace tailor::registration {

void LogDrain::AddArena(std::uint32_t index, std::shared_ptr<const ArenaView> arena,
                        std::vector<LogReader> resume) {
  resume.resize(arena->area_count());
  arenas_[index] = {std::move(arena), std::move(resume)};
}

const ArenaView* LogDrain::first_arena() const {
  auto first = arenas_.find(0);
  return first == arenas_.end() ? nullptr : first->second.view.get();
}

bool LogDrain::Drain(Sink& sink, std::size_t max_records) {
  std::size_t total = 0;
  for (const auto& [index, arena] : arenas_) total += arena.view->area_count();
  std::size_t first = total == 0 ? 0 : next_area_ % total;
  std::size_t records = 0;
  // Two rounds over all areas: from where the last call stopped to the end, then those before.
  for (int round = 0; round < 2; ++round) {
    std::size_t position = 0;
    for (auto& [index, arena] : arenas_) {
      for (std::uint32_t area = 0; area < arena.view->area_count(); ++area, ++position) {
        if ((position < first) != (round == 1)) continue;
        next_area_ = position;
        if (records >= max_records) return false;
        records += DrainArea(index, arena, area, sink);
      }
    }
  }
  return true;
}

std::size_t LogDrain::DrainArea(std::uint32_t index, Arena& arena, std::uint32_t area, Sink& sink) {
  LogReader& reader = arena.readers[area];
  std::uint64_t malformed = reader.malformed();
  std::size_t records = 0;
  for (LogRun& run : reader.Drain(*arena.view, area)) {
    records += run.records.size();
    counters_.log_lost += run.lost;
    ActivityRecords event;
    event.process = process_.id();
    event.tid = run.tid == 0 ? 0 : Tid(index, area, run.use, run.tid);
    event.records = std::move(run.records);
    event.lost = run.lost;
    sink.OnActivity(std::move(event));
  }
  malformed = reader.malformed() - malformed;
  counters_.log_records += records;
  counters_.log_malformed += malformed;
  return records + malformed;
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
  return positions;
}

}  // namespace tailor::registration
