// Writes IR as numbered lines: one for the heading of each function and block, one for each instruction.
#pragma once

#include <llvm/IR/Module.h>

#include <functional>
#include <string>

namespace tailor::jit {

// Calls `instruction_line` for every instruction and `heading_line` for every heading, in the order of the
// lines of the listing of `module`.
void ForEachLine(llvm::Module& module, const std::function<void(llvm::Function&)>& heading_line,
                 const std::function<void(llvm::Instruction&)>& instruction_line);

// The listing itself; every line ends in '\n', and none holds another.
std::string ListingOf(llvm::Module& module);

}  // namespace tailor::jit
