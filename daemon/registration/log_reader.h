// Reads one area's activity log while its thread writes it: what was overwritten is counted, what may have
// been torn is thrown away, and records go to the thread that wrote them even where the area changed hands.
//
// Why a record that passes is whole: the writer stores a record before it stores the head that covers it, and
// begins the next record after that (x86 keeps stores in order). If the head read *after* copying is h, the
// writer can have touched no record but those up to number h, and so nothing above h - capacity was
// overwritten.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/registration/arena_view.h"

namespace tailor::registration {

// Records of one thread that follow each other in its log.
struct LogRun {
  std::uint32_t tid = 0;  // in the engine's pid namespace; 0 if the records that said so were lost
  std::uint32_t use = 0;
  std::uint64_t lost = 0;  // records lost before the first one
  std::vector<tailor_log_record> records;
};

class LogReader {
 public:
  // Where an earlier reader of the same log stopped; 0: everything that is still there.
  explicit LogReader(std::uint64_t position = 0) : next_(position) {}

  // Everything new. Costs one load when there is nothing. `now`: the TSC, by which a head that no writer can
  // have reached since the last call is found out; what it claims beyond the log's capacity is not believed.
  // 0: not asked.
  std::vector<LogRun> drain(const ArenaView& arena, std::uint32_t area, std::uint64_t now = 0);

  // Nothing of what was not read yet was written before: for the first call.
  void written_since(std::uint64_t tsc) { read_at_ = tsc; }

  std::uint64_t position() const { return next_; }
  // Something was read already: there is memory behind the log's head.
  bool began() const { return next_ != 0; }
  // Heads that went backward and records of unknown kind: only a broken or hostile engine writes them.
  std::uint64_t malformed() const { return malformed_; }

 private:
  struct Window {
    std::uint64_t lost = 0;
    std::vector<tailor_log_record> records;
  };
  Window copy(const ArenaView& arena, std::uint32_t area, std::uint64_t head) const;
  void find_owner_of(const Window& window, const SlotState& slot);
  std::vector<LogRun> split(Window window);

  std::uint64_t next_;
  std::uint64_t malformed_ = 0;
  std::uint64_t read_at_ = 0;  // TSC of the last call
  bool written_ = false;       // all of the log was, as is known
  std::uint32_t tid_ = 0;      // of the thread that wrote record next_ - 1
  std::uint32_t use_ = 0;
};

}  // namespace tailor::registration
