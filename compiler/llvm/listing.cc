#include "compiler/llvm/listing.h"

#include <llvm/IR/ModuleSlotTracker.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace tailor::jit {
namespace {

// A switch prints its cases on lines of their own.
void PutInstruction(const llvm::Instruction& instruction, llvm::ModuleSlotTracker& slots, std::string& out) {
  std::size_t begin = out.size();
  llvm::raw_string_ostream stream(out);
  instruction.print(stream, slots);
  stream.flush();
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\n', ' ');
  out += '\n';
}

void PutFunctionHeading(const llvm::Function& function, std::string& out) {
  llvm::raw_string_ostream stream(out);
  stream << "define ";
  function.getReturnType()->print(stream);
  stream << " @" << function.getName() << "(";
  for (const llvm::Argument& argument : function.args()) {
    if (argument.getArgNo() > 0) stream << ", ";
    argument.getType()->print(stream);
    stream << " %";
    argument.hasName() ? stream << argument.getName() : stream << argument.getArgNo();
  }
  stream << "):\n";
}

void PutBlockHeading(const llvm::BasicBlock& block, llvm::ModuleSlotTracker& slots, std::string& out) {
  out += block.hasName() ? block.getName().str() : std::to_string(slots.getLocalSlot(&block));
  out += ":\n";
}

}  // namespace

void ForEachLine(llvm::Module& module, const std::function<void(llvm::Function&)>& heading_line,
                 const std::function<void(llvm::Instruction&)>& instruction_line) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    heading_line(function);
    for (llvm::BasicBlock& block : function) {
      heading_line(function);
      for (llvm::Instruction& instruction : block) instruction_line(instruction);
    }
  }
}

std::string ListingOf(llvm::Module& module) {
  std::string out;
  llvm::ModuleSlotTracker slots(&module, /*ShouldInitializeAllMetadata=*/false);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    slots.incorporateFunction(function);
    PutFunctionHeading(function, out);
    for (llvm::BasicBlock& block : function) {
      PutBlockHeading(block, slots, out);
      for (llvm::Instruction& instruction : block) PutInstruction(instruction, slots, out);
    }
  }
  return out;
}

}  // namespace tailor::jit
