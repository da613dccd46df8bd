#include "compiler/llvm/tuple_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace tailor::jit {
namespace {

// More tuples in one pass than vectors and unrolling ever give.
constexpr std::uint64_t kMostStep = 4096;

// All counts of a loop that begin at 0 must go equally far: else it is not clear which one counts tuples.
void read_step(const llvm::Loop& loop, llvm::ScalarEvolution& evolution, TupleLoop& out) {
  for (llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (!phi.getType()->isIntegerTy(64)) continue;
    const auto* count = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(&phi));
    if (count == nullptr || count->getLoop() != &loop || !count->getStart()->isZero()) continue;
    const auto* by =
        count->isAffine() ? llvm::dyn_cast<llvm::SCEVConstant>(count->getStepRecurrence(evolution)) : nullptr;
    const std::uint64_t step = by == nullptr ? 0 : by->getAPInt().getZExtValue();
    if (step == 0 || step > kMostStep || (out.step != 0 && out.step != step)) {
      out.is_unclear = true;
      return;
    }
    out.step = step;
  }
}

void add_loop(const llvm::Loop& loop, std::size_t parent, llvm::ScalarEvolution& evolution,
              std::map<const llvm::Loop*, std::size_t>& numbers, FunctionLoops& out) {
  const std::size_t number = out.loops.size();
  numbers[&loop] = number;
  TupleLoop made;
  made.parent = parent;
  made.trips = evolution.getSmallConstantTripCount(&loop);
  if (parent == kNoLoop) read_step(loop, evolution, made);
  out.loops.push_back(made);
  for (const llvm::Loop* inner : loop.getSubLoops()) add_loop(*inner, number, evolution, numbers, out);
}

}  // namespace

std::map<std::string, FunctionLoops> name_loops(llvm::Module& module,
                                                llvm::FunctionAnalysisManager& analyses) {
  std::map<std::string, FunctionLoops> out;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    FunctionLoops& loops = out[function.getName().str()];
    llvm::LoopInfo& info = analyses.getResult<llvm::LoopAnalysis>(function);
    llvm::ScalarEvolution& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    loops.moves_memory = llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& each) {
      return llvm::isa<llvm::MemIntrinsic>(each);
    });
    std::map<const llvm::Loop*, std::size_t> numbers;
    for (const llvm::Loop* loop : info) add_loop(*loop, kNoLoop, evolution, numbers, loops);
    for (llvm::BasicBlock& block : function) {
      const llvm::Loop* loop = info.getLoopFor(&block);
      if (loop == nullptr) continue;
      block.setName("tuples");  // LLVM adds a number where the name is taken
      loops.loop_of_block[block.getName().str()] = numbers.at(loop);
    }
  }
  return out;
}

}  // namespace tailor::jit
