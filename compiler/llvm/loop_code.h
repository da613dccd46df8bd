// The machine code of a module as instructions in blocks and loops, before it is an object.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/MC/MCInst.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/llvm/tuple_loops.h"
#include "proto/base/result.h"

namespace tailor::jit {

struct CodeBlock {
  std::vector<llvm::MCInst> code;
  std::vector<std::size_t> successors;  // numbers of blocks
  std::size_t loop = kNoLoop;           // the innermost one
};

struct CodeLoop {
  std::size_t header = 0;  // number of its block
  std::size_t parent = kNoLoop;
  std::string name;  // of the block of the IR that the header is of
};

struct FunctionCode {
  std::vector<CodeBlock> blocks;  // by number; some may be empty
  std::vector<CodeLoop> loops;
};

// Compiles the module, which has been optimised, and hands the code of its functions to `use`, by their
// names. `use` must copy the code that it wants to keep. The module is used up. Errors: LLVM cannot generate
// code for the target.
Status with_loop_code(llvm::Module& module, llvm::TargetMachine& target,
                      const std::function<void(const std::map<std::string, FunctionCode>&)>& use);

}  // namespace tailor::jit
