// Writes IR as numbered lines: one for the heading of each function and block, one for each instruction.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/llvm/instruction_text.h"
#include "compiler/tagging/link.h"

namespace tailor::jit {

struct ListedLine {
  llvm::Instruction* instruction = nullptr;  // null: a heading
  tagging::Link owner;                       // none of a heading
};

// The lines of the listing of `module`, of about `line_count`, in order, without owners.
std::vector<ListedLine> lines_of(llvm::Module& module, std::size_t line_count);

// The listing itself, of about `line_count` lines; every line ends in '\n', and none holds another.
TextBuffer listing_of(const llvm::Module& module, std::size_t line_count);

}  // namespace tailor::jit
