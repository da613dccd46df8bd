// Finds IR instructions that instruction selection has fused into others.
#pragma once

#include "compiler/llvm/native_lineage.h"

namespace llvm {
class MachineFunctionPass;
}

namespace tailor::jit {

// Selection makes one machine instruction of several IR instructions (an address with a scale, an operation
// on memory, a compare with its jump) and keeps the location of one. An IR instruction that no machine
// instruction names, and that has a single user, went into that user: the user's machine instructions then
// belong to the owners of both (Tailored Profiling, section 4.2.7, "instruction fusing"). Addresses are left
// out: they cost nothing where they are folded into an access. A constant that became an instruction belongs
// to the instructions whose operand it is.
//
// Insert after FinalizeISel. Changes locations only. The pass manager owns it.
llvm::MachineFunctionPass* create_fused_owners_pass(ModuleLineage& lineage);

}  // namespace tailor::jit
