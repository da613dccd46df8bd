// Turns owners of machine instructions into a section of offsets in the object.
#pragma once

#include <memory>

#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/native_lineage.h"

namespace llvm {
class AsmPrinter;
class MachineFunctionPass;
}  // namespace llvm

namespace tailor::jit {

inline constexpr const char* kRowSection = ".tailor.rows";

// The last machine pass: notes every instruction where the owner changes, with the owner, in `lineage`. The
// pass manager owns the pass.
llvm::MachineFunctionPass* create_row_pass(ModuleLineage& lineage);

// Notes where the marks in `lineage` stand as their instructions are emitted: a label for each base, and the
// others' distance from it. At the end writes the section: for each base, in order, its offset from the first
// function, 32 bits. Labels leave no trace in the machine code.
std::unique_ptr<EmissionHandler> create_row_emitter(llvm::AsmPrinter& printer, ModuleLineage& lineage);

}  // namespace tailor::jit
