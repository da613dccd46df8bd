#include "daemon/tailord/past_runs.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/leader.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/store/store_directory.h"

namespace tailor::tailord {

Result<std::vector<PastRun>> past_runs(const store::Catalogue& catalogue, const Moment& now,
                                       std::size_t queries, const Stop& stop) {
  constexpr std::size_t kAtATime = 2'000;
  constexpr auto kFor = static_cast<std::uint64_t>(UsualTime::kFor);
  const store::WallRange range{now.wall_ns - std::min(now.wall_ns, kFor), now.wall_ns};
  std::vector<PastRun> runs;
  std::map<std::string, std::size_t> known;  // how many of each query
  std::size_t rows = 0;
  Status read = catalogue.visit_ended(range, kAtATime, [&](const store::ExecutionRow& row) {
    if (stop.stopped() || ++rows > kMostPastRows) return false;
    const profile::ExecutionRecord& record = row.record;
    const TimeNs elapsed = record.end - record.begin;
    if (!record.error.empty() || elapsed < 0 || profile::leader_of(record)) return true;
    // As Triggers has it: how long a sum of runs took says nothing of one.
    if (profile::adds_up_runs(record)) return true;
    // It ended later, which others count, or the wall clock was set since then.
    if (row.wall_begin_ns + static_cast<std::uint64_t>(elapsed) > now.wall_ns) return true;
    std::string fingerprint = serve::fingerprint_of(row);
    if (known.size() >= queries && !known.contains(fingerprint)) return true;
    if (++known[fingerprint] > UsualTime::kMost) return true;
    const auto ago = static_cast<TimeNs>(now.wall_ns - row.wall_begin_ns) - elapsed;
    runs.push_back({std::move(fingerprint), now.time - ago, elapsed});
    return true;
  });
  if (!read) return read.error();
  if (stop.stopped()) return stop.error();
  return runs;
}

PastRunsReader::PastRunsReader(std::string directory, const Moment& before, std::size_t queries,
                               std::function<void(std::vector<PastRun>)> take)
    : directory_(std::move(directory)),
      before_(before),
      queries_(queries),
      take_(std::move(take)),
      thread_([this] {
        auto runs = read();
        if (runs) return take_(std::move(*runs));
        if (!stop_.stopped())
          spdlog::warn("triggers do not know yet how long queries ran before the start: {}",
                       runs.error().message);
      }) {}

PastRunsReader::~PastRunsReader() {
  stop_.cancel();
  thread_.join();
}

Result<std::vector<PastRun>> PastRunsReader::read() const {
  auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
  if (!catalogue) return catalogue.error();
  return past_runs(*catalogue, before_, queries_, stop_);
}

}  // namespace tailor::tailord
