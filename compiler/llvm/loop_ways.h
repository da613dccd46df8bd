// The instructions of one pass through a loop, with the passes through the loops in it.
#pragma once

#include <llvm/MC/MCInst.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/llvm/loop_code.h"
#include "proto/base/result.h"

namespace tailor::jit {

struct PassCode {
  std::vector<const llvm::MCInst*> code;
  // Loops that run long are in `code` with their first passes only: how many passes of them it lacks, by
  // their numbers.
  std::map<std::size_t, double> missing;
};

// Where branches leave a choice, the way with the fewest or with the most instructions. Not thread-safe.
class LoopWays {
 public:
  enum class Choice : unsigned char { kShortest, kLongest };
  // Instructions of a pass that are worth to be simulated.
  static constexpr std::uint64_t kMostInstructions = 20'000;
  // Passes through a loop inside are left out beyond these instructions. That is more than what a CPU
  // has under way at once, so that another pass adds what the one before it did.
  static constexpr std::uint64_t kMostInside = 1'000;

  // `trips` has a number of passes for each loop of `code`, 0 where it is not known. Both outlive this.
  LoopWays(const FunctionCode& code, const std::vector<std::uint64_t>& trips, Choice choice);

  // From the header of the loop back to it. Errors, as what an answer is missing for: a loop in it whose
  // passes are not known, jumps that form no loop, too many instructions.
  Result<PassCode> pass_of(std::size_t loop);

 private:
  // What follows from a block on, or from the entry of a loop.
  struct Way {
    enum class State : unsigned char { kNew, kOpen, kDone };
    State state = State::kNew;
    std::optional<std::uint64_t> length;  // up to the header of the loop around; none: it never comes there
    std::size_t next = 0;                 // the block that it goes on with
  };

  bool is_in(std::size_t block, std::size_t loop) const;
  // The loop in which the block is, of those directly in `loop`; kNoLoop: it is in `loop` itself.
  std::size_t inner_loop(std::size_t block, std::size_t loop) const;
  std::optional<std::uint64_t> from(std::size_t block, std::size_t loop);
  std::optional<std::uint64_t> through_block(std::size_t block);
  std::optional<std::uint64_t> through_loop(std::size_t loop);
  // Takes `block` as the next one of `way` if that is better.
  void offer(std::size_t block, std::size_t loop, Way& way);
  // false: it is too long.
  bool append(std::size_t loop, PassCode& out) const;

  const FunctionCode& code_;
  const std::vector<std::uint64_t>& trips_;
  Choice choice_;
  std::vector<Way> blocks_, loops_;
  std::string refused_;  // why there is no answer
};

}  // namespace tailor::jit
