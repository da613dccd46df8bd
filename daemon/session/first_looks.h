// What processes had mapped when they were sampled first. It is read after their events were opened, so that
// what is mapped from then on is in the rings, and on a thread of their user, because a file may wait for who
// serves it. Nothing is attributed meanwhile, for a while.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "daemon/os/os.h"
#include "daemon/pipeline/input.h"
#include "daemon/unwind/file_work.h"

namespace tailor::session {

// Control thread only.
class FirstLooks {
 public:
  // How long the attribution of all samples waits for a look, and when a look is given up.
  static constexpr TimeNs kMostHeldBack = 300'000'000, kGivenUpAfter = 30'000'000'000;

  // `os` must outlive this. `run`: see FileWork.
  FirstLooks(os::Os& os, unwind::FileWork::Run run) : os_(os), work_(std::move(run)) {}

  // `memory`: all of the process's memory, not its code alone. `since`: before its events were opened.
  void begin(ProcessId process, TimeNs since, bool memory);
  // Tells those that are finished; nothing of a process that is gone by then. `give_up`: its user's files
  // never answer.
  using Tell = std::function<void(const pipeline::KnownProcess&)>;
  using GiveUp = std::function<void(ProcessId)>;
  void take(const Tell& tell, const GiveUp& give_up);
  // Samples up to then have what they need, or waited long enough.
  TimeNs known_until(TimeNs now) const;
  // Whether somebody waits for one.
  bool is_awaited(TimeNs now) const { return known_until(now) > now - kMostHeldBack && !looks_.empty(); }

 private:
  struct Seen {
    pipeline::KnownProcess process;
    std::size_t bytes() const { return 0; }  // nothing stays
  };
  struct Look {
    ProcessId process;
    bool memory = false;
    TimeNs since = 0;
    std::uint32_t user = unwind::kNoUser;
    std::shared_ptr<unwind::Awaited<Seen>> seen = {};  // NULL: its user has too much to do now
  };
  bool is_over(Look& look, const Tell& tell, const GiveUp& give_up);

  os::Os& os_;
  unwind::FileWork work_;
  std::deque<Look> looks_;
};

}  // namespace tailor::session
