// Servers of debug files, by build id (debuginfod(8)). The client library of elfutils asks them and keeps
// what they gave; it is loaded when the first file is asked for, so nobody needs it who does not ask.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/query/symbols/debug_finder.h"
#include "proto/base/ids.h"

namespace tailor::query {

// How long a server may take.
struct DebuginfodLimits {
  TimeNs quiet = 10'000'000'000;       // without anything new; DEBUGINFOD_TIMEOUT (seconds) says another
  TimeNs of_a_file = 120'000'000'000;  // DEBUGINFOD_MAXTIME (seconds) says another
  TimeNs of_all = 300'000'000'000;     // of one run
  // Those, as the environment has them.
  static DebuginfodLimits of_environment();
};

// A server that failed is not asked again: the next file would wait as long.
class Debuginfod : public DebugFinder {
 public:
  // A descriptor, or a negative number of errno(3) and what to say of it. Takes no longer than `most`.
  struct Answer {
    int file = -1;
    std::string why = {};
  };
  using Ask = std::function<Answer(What what, const std::string& build_id, TimeNs most)>;
  using Now = std::function<TimeNs()>;

  Debuginfod(Ask ask, DebuginfodLimits limits, Now now = {});

  // Asks the servers in DEBUGINFOD_URLS. NULL: it names none.
  static std::unique_ptr<DebugFinder> of_environment();

  Found find(What what, const std::string& build_id) override;

 private:
  const Ask ask_;
  const DebuginfodLimits limits_;
  const Now now_;
  std::mutex mutex_;
  TimeNs spent_ = 0;
  std::string stopped_;  // nobody is asked any more, for this reason
};

// By the client library; `quiet` is as in DebuginfodLimits.
Debuginfod::Ask ask_by_library(TimeNs quiet);

}  // namespace tailor::query
