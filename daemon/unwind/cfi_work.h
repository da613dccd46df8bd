// What unwinding costs, and what need not be worked out again.
//
// Call frame information may come from anybody who can map a file or register code: a function may have
// millions of rows, and every frame of every sample needs one of them. So a walk has a budget, and the rules
// of functions with long programs are remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/unwind/cfi_rules.h"
#include "daemon/unwind/walk_end.h"

namespace tailor::unwind {

// One thread.
class CfiWork {
 public:
  // Of a function. Compilers make far shorter ones.
  static constexpr std::size_t kMostProgramBytes = std::size_t{64} << 10;
  // Of one walk, in units of CfiProgram::run() and CfiRules::apply(). The program that exceeds it is run to
  // its end.
  static constexpr std::size_t kMostOfAWalk = 16384;
  // Shorter programs are run each time.
  static constexpr std::size_t kRemembered = 256;

  void begin_walk() { spent_ = 0; }
  void spend(std::size_t units) { spent_ += units; }
  bool is_spent() const { return spent_ >= kMostOfAWalk; }

  // Why a step was refused. Valid after one that was.
  void refuse(WalkEnd why) { why_ = why; }
  WalkEnd why() const { return why_; }

  // The place for the rules of one address of one table. They are of that address if `table` and `address`
  // say so; else the asker may put them there. Valid until the next call.
  struct Slot {
    std::uint64_t table = 0, address = 0;  // table: CfiTable's serial number, 0 none
    CfiRules rules;
    bool works = false;  // else the program fails at that address
  };
  Slot& slot(std::uint64_t table, std::uint64_t address) {
    if (!slots_) slots_ = std::make_unique<std::array<Slot, kSlots>>();
    return (*slots_)[(address * 0x9E3779B97F4A7C15 + table) >> 32 & (kSlots - 1)];
  }

 private:
  static constexpr std::size_t kSlots = 256;
  std::unique_ptr<std::array<Slot, kSlots>> slots_;  // some 150 kB, once they are needed
  std::size_t spent_ = 0;
  WalkEnd why_ = WalkEnd::kNoRule;
};

}  // namespace tailor::unwind
