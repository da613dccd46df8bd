// The loops of optimised IR, named so that they are found again in the machine code that is made of it.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tailor::jit {

inline constexpr std::size_t kNoLoop = SIZE_MAX;

struct TupleLoop {
  std::size_t parent = kNoLoop;
  std::uint64_t trips = 0;  // passes each time that it is entered; 0: not known
  // Of an outermost loop: how far its count of tuples goes in one pass. 0: it counts none from 0 on, as what
  // is left for the last tuples does.
  std::uint64_t step = 0;
  bool is_unclear = false;  // it has several counts, which differ
};

struct FunctionLoops {
  std::vector<TupleLoop> loops;                      // outer ones before those in them
  std::map<std::string, std::size_t> loop_of_block;  // by the names of blocks: the innermost loop
  bool moves_memory = false;  // it has instructions that copy or fill a range of memory
};

// Of all functions with a body, by their names. Gives new names to all blocks of loops. `analyses` are of the
// pipeline that has just run.
std::map<std::string, FunctionLoops> name_loops(llvm::Module& module,
                                                llvm::FunctionAnalysisManager& analyses);

}  // namespace tailor::jit
