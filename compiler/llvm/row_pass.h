// Turns owners of machine instructions into a section of offsets in the object.
#pragma once

#include <memory>

#include "compiler/llvm/native_lineage.h"

namespace llvm {
class AsmPrinter;
class AsmPrinterHandler;
class MachineFunctionPass;
}  // namespace llvm

namespace tailor::jit {

inline constexpr const char* kRowSection = ".tailor.rows";

// The last machine pass: marks with a label every instruction where the owner changes, and notes the label's
// owner in `lineage`. Labels leave no trace in the machine code. The pass manager owns the pass.
llvm::MachineFunctionPass* CreateRowPass(ModuleLineage& lineage);

// Writes the section: for each base among the marks in `lineage`, in order, its offset from the first
// function, 32 bits. Fills in where the other marks stand.
std::unique_ptr<llvm::AsmPrinterHandler> CreateRowEmitter(llvm::AsmPrinter& printer, ModuleLineage& lineage);

}  // namespace tailor::jit
