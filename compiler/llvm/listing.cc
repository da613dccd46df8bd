#include "compiler/llvm/listing.h"
namespace tailor::jit {
namespace {

// A line is about as long.
constexpr std::size_t kLineBytes = 48;

}  // namespace

std::vector<ListedLine> lines_of(llvm::Module& module, std::size_t line_count) {
  std::vector<ListedLine> lines;
  lines.reserve(line_count);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    lines.emplace_back();
    for (llvm::BasicBlock& block : function) {
      lines.emplace_back();
      for (llvm::Instruction& instruction : block) lines.push_back({&instruction, {}});
    }
  }
  return lines;
}

TextBuffer listing_of(const llvm::Module& module, std::size_t line_count) {
  TextBuffer out(line_count * kLineBytes);
  InstructionText text(module, out);
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    text.begin(function);
    text.put_function();
    out += '\n';
    for (const llvm::BasicBlock& block : function) {
      text.put_block(block);
      out += '\n';
      for (const llvm::Instruction& instruction : block) {
        text.put_instruction(instruction);
        out += '\n';
      }
    }
  }
  return out;
}

}  // namespace tailor::jit
