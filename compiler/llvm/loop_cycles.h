// How many cycles a tuple takes in functions that are loops over tuples, as LLVM's model of the CPU predicts
// it.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <string>

#include "proto/base/result.h"

namespace tailor::jit {

// Of one tuple, once very many were there before: the cycles of the first tuples and of the last ones are not
// in it.
struct LoopCycles {
  // By the shortest and by the longest way through the loop. Which ways tuples take depends on the data.
  double low = 0, high = 0;
  double calls = 0;     // of functions, by the longest way: their cycles are in neither number
  std::string unknown;  // why nothing is predicted; empty: it is
};

// Of all functions with a body of a module that has been optimised, each of which counts its tuples from 0 on
// in an i64, by their names. `analyses` are those of the pipeline that has just run. The module is used up,
// and they are cleared. Errors: LLVM cannot generate code for the target.
Result<std::map<std::string, LoopCycles>> predict_loops(llvm::Module& module, llvm::TargetMachine& target,
                                                        llvm::FunctionAnalysisManager& analyses);

}  // namespace tailor::jit
