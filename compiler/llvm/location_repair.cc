#include "compiler/llvm/location_repair.h"

#include <llvm/CodeGen/MachineMemOperand.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Instructions.h>

#include "compiler/llvm/line_code.h"

namespace tailor::jit {
namespace {

using tagging::Link;
using tagging::RowFlag;

bool Known(const NativeOwner& owner) {
  return !owner.link.none();
}

NativeOwner Inferred(const NativeOwner& from) {
  return {from.link, RowFlag::kInferred};
}

bool EmitsCode(const llvm::MachineInstr& instruction) {
  return !instruction.isMetaInstruction() && !instruction.isPosition();
}

}  // namespace

LocationRepair::LocationRepair(const llvm::MachineFunction& function, tagging::LinkPool& sets)
    : function_(function), registers_(*function.getSubtarget().getRegisterInfo()), sets_(sets) {
  IndexLoads();
  for (const llvm::MachineBasicBlock& block : function) {
    std::size_t begin = instructions_.size();
    for (const llvm::MachineInstr& instruction : block) {
      if (EmitsCode(instruction)) instructions_.push_back({&instruction, Recorded(instruction)});
    }
    block_of_[&block] = blocks_.size();
    blocks_.push_back({&block, begin, instructions_.size()});
  }
}

void LocationRepair::IndexLoads() {
  for (const llvm::BasicBlock& block : function_.getFunction()) {
    for (const llvm::Instruction& instruction : block) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr) continue;
      Link& link = loads_[{&block, load->getPointerOperand()}];
      link = sets_.Union(link, LineageOf(load->getDebugLoc()).link);
    }
  }
}

// An operation on memory has swallowed a load; the location names the operation only.
Link LocationRepair::FoldedLoads(const llvm::MachineInstr& instruction) const {
  Link link;
  if (!instruction.mayLoad() || instruction.isCall()) return link;
  for (const llvm::MachineMemOperand* memory : instruction.memoperands()) {
    if (!memory->isLoad() || memory->getValue() == nullptr) continue;
    auto it = loads_.find({instruction.getParent()->getBasicBlock(), memory->getValue()});
    if (it != loads_.end()) link = sets_.Union(link, it->second);
  }
  return link;
}

NativeOwner LocationRepair::Recorded(const llvm::MachineInstr& instruction) const {
  if (instruction.getFlag(llvm::MachineInstr::FrameSetup) ||
      instruction.getFlag(llvm::MachineInstr::FrameDestroy)) {
    return {Link(), RowFlag::kPrologue};
  }
  Lineage lineage = LineageOf(instruction.getDebugLoc());
  if (lineage.link.none()) return {};
  if (!lineage.repaired) lineage.link = sets_.Union(lineage.link, FoldedLoads(instruction));
  if (lineage.repaired) return {lineage.link, RowFlag::kInferred};
  return {lineage.link, lineage.link.is_set() ? RowFlag::kShared : RowFlag::kExact};
}

// The value is made for whoever reads it.
NativeOwner LocationRepair::FromReader(const Block& block, std::size_t at) const {
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!operand.isReg() || !operand.isDef() || operand.isDead() || !operand.getReg().isPhysical()) continue;
    if (operand.isImplicit() && operand.getReg() != operand.getReg().asMCReg()) continue;
    for (std::size_t i = at + 1; i < block.end; ++i) {
      const llvm::MachineInstr& later = *instructions_[i].instruction;
      if (later.readsRegister(operand.getReg(), &registers_)) {
        if (Known(instructions_[i].owner)) return Inferred(instructions_[i].owner);
        break;
      }
      if (later.modifiesRegister(operand.getReg(), &registers_)) break;
    }
  }
  return {};
}

// What is stored, compared or moved on was made by somebody.
NativeOwner LocationRepair::FromWriter(const Block& block, std::size_t at) const {
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!operand.isReg() || !operand.isUse() || !operand.getReg().isPhysical()) continue;
    for (std::size_t i = at; i-- > block.begin;) {
      const llvm::MachineInstr& earlier = *instructions_[i].instruction;
      if (!earlier.modifiesRegister(operand.getReg(), &registers_)) continue;
      if (Known(instructions_[i].owner)) return Inferred(instructions_[i].owner);
      break;
    }
  }
  return {};
}

NativeOwner LocationRepair::FromNeighbour(const Block& block, std::size_t at) const {
  const bool ends_block = instructions_[at].instruction->isTerminator();
  if (at > block.begin && Known(instructions_[at - 1].owner)) return Inferred(instructions_[at - 1].owner);
  if (!ends_block && at + 1 < block.end && Known(instructions_[at + 1].owner)) {
    return Inferred(instructions_[at + 1].owner);
  }
  return {};
}

NativeOwner LocationRepair::FromOtherBlock(const Block& block) const {
  for (const llvm::MachineBasicBlock* before : block.block->predecessors()) {
    const Block& other = blocks_[block_of_.lookup(before)];
    if (other.end > other.begin && Known(instructions_[other.end - 1].owner)) {
      return Inferred(instructions_[other.end - 1].owner);
    }
  }
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    const Block& other = blocks_[block_of_.lookup(after)];
    if (other.end > other.begin && Known(instructions_[other.begin].owner)) {
      return Inferred(instructions_[other.begin].owner);
    }
  }
  return {};
}

bool LocationRepair::RepairRound(bool across_blocks) {
  bool changed = false;
  for (const Block& block : blocks_) {
    for (std::size_t i = block.begin; i < block.end; ++i) {
      NativeOwner& owner = instructions_[i].owner;
      if (Known(owner) || owner.flag == RowFlag::kPrologue) continue;
      NativeOwner found = FromReader(block, i);
      if (!Known(found)) found = FromWriter(block, i);
      if (!Known(found) && across_blocks) found = FromNeighbour(block, i);
      if (!Known(found) && across_blocks) found = FromOtherBlock(block);
      if (!Known(found)) continue;
      owner = found;
      changed = true;
    }
  }
  return changed;
}

void LocationRepair::Repair() {
  // First what registers tell, until they tell no more; only then what merely stands near.
  while (RepairRound(false)) {
  }
  while (RepairRound(true)) {
  }
}

}  // namespace tailor::jit
