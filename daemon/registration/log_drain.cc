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

void LogDrain::Drain(Sink& sink) {
  for (auto& [index, arena] : arenas_) {
    for (std::uint32_t area = 0; area < arena.view->area_count(); ++area) DrainArea(index, arena, area, sink);
  }
}

void LogDrain::DrainArea(std::uint32_t index, Arena& arena, std::uint32_t area, Sink& sink) {
  LogReader& reader = arena.readers[area];
  std::uint64_t malformed = reader.malformed();
  for (LogRun& run : reader.Drain(*arena.view, area)) {
    counters_.log_records += run.records.size();
    counters_.log_lost += run.lost;
    ActivityRecords event;
    event.process = process_.id();
    event.tid = run.tid == 0 ? 0 : Tid(index, area, run.use, run.tid);
    event.records = std::move(run.records);
    event.lost = run.lost;
    sink.OnActivity(std::move(event));
  }
  counters_.log_malformed += reader.malformed() - malformed;
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
