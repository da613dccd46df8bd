// Keeps the tag's register out of generated code, and tags the calls that instruction selection inserts.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "compiler/llvm/tag_strategy.h"

namespace llvm {
class MachineFunctionPass;
class MachineInstr;
}  // namespace llvm

namespace tailor::jit {

// Stock LLVM cannot reserve r15 on x86-64. This pass, right after instruction selection, makes r15 live into
// every block and used by every call and block end, so that no register allocator ever hands it out while
// explicit writes of it survive (Tailored Profiling, section 4.2.5, "register tagging").
//
// Instruction selection turns memcpy, 128-bit division and the like into calls of shared functions; around
// them the pass sets the tag that `tag_of` gives for the call (0: none is set) and restores the one before.
//
// A tag that no call or block end sees is dropped by code generation, and the register is scratch until the
// next write. With `always_live` every instruction sees the register, so that it holds the tag everywhere.
//
// Must be inserted after FinalizeISel, before the selection passes are added to the pass manager; later it is
// silently ignored. The pass manager owns it.
//
// Names of outside functions that are called under no tag of their own (not through call_shared, whose
// functions have the attribute kSharedAttribute, and without a task where LLVM inserted the call) are added
// to `untagged`.
inline constexpr char kSharedAttribute[] = "tailor-shared";
llvm::MachineFunctionPass* create_tag_register_pass(
    TagStrategy strategy, bool always_live, std::function<std::uint64_t(const llvm::MachineInstr&)> tag_of,
    std::set<std::string>& untagged);

}  // namespace tailor::jit
