// How many cycles instructions take, by LLVM's model of a CPU (its library MCA, "machine code analyser"): the
// instructions are played in the CPU's units. All memory is in the first cache, no branch is mispredicted, no
// load waits for an earlier store, and the front end always delivers.
#pragma once

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MCA/CustomBehaviour.h>
#include <llvm/MCA/InstrBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "proto/base/result.h"

namespace tailor::jit {

// Not thread-safe.
class CycleModel {
 public:
  // Of the CPU of `target`, which outlives the model.
  explicit CycleModel(const llvm::TargetMachine& target);

  // Cycles of one pass through the instructions, where very many passes follow one another. Calls and returns
  // are not among them, and there is at least one. Errors: LLVM has no model of the CPU, or none of one of
  // the instructions.
  Result<double> cycles_of(std::span<const llvm::MCInst* const> pass);

 private:
  using Instructions = std::vector<std::unique_ptr<llvm::mca::Instruction>>;
  Result<double> simulate(const Instructions& pass, unsigned passes) const;

  const llvm::TargetMachine& target_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
  llvm::mca::InstrumentManager instruments_;
  std::optional<llvm::mca::InstrBuilder> builder_;  // none: LLVM has no model of the CPU
};

}  // namespace tailor::jit
