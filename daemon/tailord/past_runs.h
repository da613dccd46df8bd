// What queries took before the daemon was started, as the catalogue of its store says. So triggers know the
// usual time of a query from the first minute on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/tailord/usual_time.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::tailord {

// A run that ended without an error.
struct PastRun {
  std::string fingerprint;
  TimeNs ended = 0, elapsed = 0;  // by the clock of this boot: below zero before it
};

// One moment by two clocks.
struct Moment {
  TimeNs time = 0;
  std::uint64_t wall_ns = 0;  // CLOCK_REALTIME
};

constexpr std::size_t kMostPastRows = 250'000;  // of the catalogue that are looked at, the newest

// Those that ended in the time UsualTime::kFor before `now`, at most UsualTime::kMost of a query and of
// `queries` queries; the newest first. Executions in which an engine adds up runs are left out. Fails where
// the catalogue cannot be read, and where `stop` says so.
Result<std::vector<PastRun>> past_runs(const store::Catalogue& catalogue, const Moment& now,
                                       std::size_t queries, const Stop& stop);

// Reads them on a thread of its own: it may take seconds.
class PastRunsReader {
 public:
  // Of the store in `directory`, those of `queries` queries that ended before `before`: what ends later is
  // counted as it ends, and none may count twice. `take` is called on that thread, once; not where they
  // cannot be read, which the log says. What `take` needs must outlive this.
  PastRunsReader(std::string directory, const Moment& before, std::size_t queries,
                 std::function<void(std::vector<PastRun>)> take);
  // Gives up what it is at.
  ~PastRunsReader();
  PastRunsReader(const PastRunsReader&) = delete;
  PastRunsReader& operator=(const PastRunsReader&) = delete;

 private:
  Result<std::vector<PastRun>> read() const;

  const std::string directory_;
  const Moment before_;
  const std::size_t queries_;
  const std::function<void(std::vector<PastRun>)> take_;
  Stop stop_;
  std::thread thread_;
};

}  // namespace tailor::tailord
