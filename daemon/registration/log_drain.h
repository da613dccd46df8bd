// All activity logs of one process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/registration/counters.h"
#include "daemon/registration/events.h"
#include "daemon/registration/log_reader.h"
#include "daemon/registration/peer_process.h"

namespace tailor::registration {

// Where reading stopped: what a reconnected agent's logs are continued from.
using LogPositions = std::map<std::uint32_t, std::vector<LogReader>>;

class LogDrain {
 public:
  LogDrain(PeerProcess& process, Counters& counters) : process_(process), counters_(counters) {}

  // `resume`: readers of the same arena on an earlier connection; empty if there was none. Nothing in it was
  // written before `since` (TSC) that has not been read.
  void add_arena(std::uint32_t index, std::shared_ptr<const ArenaView> arena, std::vector<LogReader> resume,
                 std::uint64_t since);
  bool has_arena(std::uint32_t index) const { return arenas_.contains(index); }
  std::size_t areas() const { return areas_.size(); }
  // Records of the smallest log; UINT32_MAX: there is none.
  std::uint32_t least_log() const;
  const ArenaView* first_arena() const;

  // Hands what is new to the sink. A call looks at each log once at most. It stops after about `max_records`,
  // or when `max_areas` logs were looked at, and goes on from there the next time; a log's head costs its
  // writer nothing, so one process must not be able to keep the daemon reading. Returns how many records it
  // read, good or not.
  std::size_t drain(Sink& sink, std::size_t max_records, std::size_t max_areas);

  // A pass has looked at every log once since it began: what was in them then was handed over.
  void begin_pass() { areas_left_ = areas_.size(); }
  bool pass_done() const { return areas_left_ == 0; }

  // How full the fullest log was that drain() has read since the last call, from 0 to 1.
  double take_fullest() { return std::exchange(fullest_, 0.0); }

  // The thread behind this use of an area, in the daemon's pid namespace; 0 unknown. Threads of other pid
  // namespaces can be found only while they live, so ask early.
  std::int32_t tid(std::uint32_t arena, std::uint32_t area, std::uint32_t use, std::uint32_t inner_tid);

  LogPositions take_positions();

 private:
  struct Arena {
    std::shared_ptr<const ArenaView> view;
    std::vector<LogReader> readers;  // one an area
  };
  struct Area {
    std::uint32_t arena, area;
  };
  struct Thread {
    std::uint32_t use = 0;
    std::uint32_t inner_tid = 0;
    std::int32_t tid = 0;
  };
  std::size_t skip_untouched() const;
  // Returns how many records were read, good or not.
  std::size_t drain_area(const Area& area, Sink& sink);
  void clamp(std::vector<tailor_log_record>& records, std::uint64_t now);

  PeerProcess& process_;
  Counters& counters_;
  std::map<std::uint32_t, Arena> arenas_;
  std::vector<Area> areas_;     // of all arenas
  std::size_t next_area_ = 0;   // to be read first
  std::size_t areas_left_ = 0;  // of the pass
  double fullest_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Thread> threads_;  // last one of (arena, area)
};

}  // namespace tailor::registration
