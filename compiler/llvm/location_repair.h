// Finds the owner of every machine instruction of a finished function, also of those whose location code
// generation lost: spills, reloads, copies, constants, jumps, frame set-up.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <vector>

#include "compiler/llvm/native_lineage.h"

namespace tailor::jit {

// Lifecycle: construct on a function after its last machine pass (reads what was recorded), Repair() fills
// the gaps, owners() tells. Works on the order of the layout; changes nothing in the function.
class LocationRepair {
 public:
  struct Instruction {
    const llvm::MachineInstr* instruction;
    NativeOwner owner;
  };

  // `sets` receives the union of the owners where one machine instruction does the work of several.
  LocationRepair(const llvm::MachineFunction& function, tagging::LinkPool& sets);

  // Gives every instruction without owner one that is inferred, in this order: who next reads a register it
  // writes; who wrote the register it reads; its neighbours; the ends of preceding blocks.
  void Repair();

  // One entry for each instruction that becomes machine code, in the order of the layout.
  std::vector<Instruction>& instructions() { return instructions_; }

 private:
  struct Block {
    const llvm::MachineBasicBlock* block;
    std::size_t begin, end;  // in instructions_
  };

  NativeOwner Recorded(const llvm::MachineInstr& instruction) const;
  tagging::Link FoldedLoads(const llvm::MachineInstr& instruction) const;
  void IndexLoads();

  NativeOwner FromReader(const Block& block, std::size_t at) const;
  NativeOwner FromWriter(const Block& block, std::size_t at) const;
  NativeOwner FromNeighbour(const Block& block, std::size_t at) const;
  NativeOwner FromOtherBlock(const Block& block) const;
  bool RepairRound(bool across_blocks);

  const llvm::MachineFunction& function_;
  const llvm::TargetRegisterInfo& registers_;
  tagging::LinkPool& sets_;
  std::vector<Instruction> instructions_;
  std::vector<Block> blocks_;
  llvm::DenseMap<const llvm::MachineBasicBlock*, std::size_t> block_of_;
  // The owners of the loads of an address within an IR block.
  llvm::DenseMap<std::pair<const llvm::BasicBlock*, const llvm::Value*>, tagging::Link> loads_;
};

}  // namespace tailor::jit
