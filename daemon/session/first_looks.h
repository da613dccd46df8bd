// What processes have mapped: when they are sampled first, and again when records of mappings were lost. It
// is read after their events were opened, so that what is mapped from then on is in the rings, and on a
// thread of their user, because a file may wait for who serves it. It is told in parts: a process may have
// mapped as much as it likes. Nothing is attributed meanwhile, for a while.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
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
  static constexpr TimeNs kApart = 1'000'000'000;
  // Mappings, or areas of memory, that are told in one round: of the processes of a user, and in all. A
  // process counts for some of them itself.
  static constexpr std::size_t kMostOfUser = 500, kMostOfRound = 2000, kOfProcess = 10;

  // `os` must outlive this. `run`: see FileWork.
  FirstLooks(os::Os& os, unwind::FileWork::Run run) : os_(os), work_(std::move(run)) {}

  // Begins a look; take() tells what it saw. `memory`: all of the process's memory, not its code alone.
  // `since`: before its events were opened.
  void begin(ProcessId process, TimeNs since, bool memory);
  // Its mappings must be looked at again, because records were lost, at `since` or just before, or because
  // its memory is of interest from now on. Not more often than each second. False: a look waits already, and
  // will see that.
  bool again(ProcessId process, TimeNs since, bool memory);
  // Tells those that are finished, or a part of them; nothing of a process that is gone before the first
  // part. `give_up`: its user's files do not answer, or its user has too many processes.
  using Tell = std::function<void(const pipeline::KnownProcess&)>;
  using GiveUp = std::function<void(ProcessId)>;
  void take(const Tell& tell, const GiveUp& give_up);
  // Samples up to then have what they need, or waited long enough.
  TimeNs known_until(TimeNs now) const;
  // Whether somebody waits for one.
  bool is_awaited(TimeNs now) const;

 private:
  struct Seen {
    pipeline::KnownProcess process;
    std::size_t bytes() const;  // until all of it is told
  };
  struct Look {
    ProcessId process;
    bool memory = false;
    TimeNs since = 0;
    TimeNs not_before = kTimeMin;
    std::uint32_t user = unwind::kNoUser;
    std::shared_ptr<unwind::Awaited<Seen>> seen = {};  // NULL: its user has too much to do now
    std::size_t told = 0;                              // of each kind
    bool given_up = false;                             // nobody waits for it any more
  };
  void ask(Look& look);
  bool is_of_no_use(const Look& look);
  static bool counts(const Look& look, TimeNs now) { return !look.given_up && look.not_before <= now; }
  bool is_ready(Look& look, TimeNs now, const GiveUp& give_up);
  void release(Look& look);
  static pipeline::KnownProcess next_part(Look& look, std::size_t most);

  os::Os& os_;
  unwind::FileWork work_;
  std::deque<Look> looks_;
  std::map<ProcessId, TimeNs> looked_again_;  // within the last kApart
};

}  // namespace tailor::session
