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

// How many blocks ahead a reader of a register is looked for.
constexpr int kReaderBlocks = 4;

bool EmitsCode(const llvm::MachineInstr& instruction) {
  return !instruction.isMetaInstruction() && !instruction.isPosition();
}

bool IsFrameCode(const llvm::MachineInstr& instruction) {
  return instruction.getFlag(llvm::MachineInstr::FrameSetup) ||
         instruction.getFlag(llvm::MachineInstr::FrameDestroy);
}

const llvm::Value* Callee(const llvm::MachineInstr& call) {
  const llvm::MachineOperand& target = call.getOperand(0);
  return target.isGlobal() ? target.getGlobal() : nullptr;
}

}  // namespace

LocationRepair::LocationRepair(const llvm::MachineFunction& function, tagging::LinkPool& sets)
    : function_(function), registers_(*function.getSubtarget().getRegisterInfo()), sets_(sets) {
  IndexIr();
  for (const llvm::MachineBasicBlock& block : function) {
    std::size_t begin = instructions_.size();
    for (const llvm::MachineInstr& instruction : block) {
      if (!EmitsCode(instruction)) continue;
      instructions_.push_back({&instruction, {}, {}});
      Record(instructions_.back());
    }
    block_of_[&block] = blocks_.size();
    blocks_.push_back({&block, begin, instructions_.size()});
  }
}

void LocationRepair::IndexIr() {
  for (const llvm::BasicBlock& block : function_.getFunction()) {
    for (const llvm::Instruction& instruction : block) {
      Link owner = LineageOf(instruction.getDebugLoc()).link;
      auto add = [&](auto& index, const llvm::Value* value) {
        Link& link = index[{&block, value}];
        link = sets_.Union(link, owner);
      };
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
        add(loads_, load->getPointerOperand());
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        add(stores_, store->getPointerOperand());
      }
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        add(calls_, call->getCalledOperand());
    }
  }
}

void LocationRepair::Record(Instruction& instruction) const {
  if (IsFrameCode(*instruction.instruction)) {
    instruction.owner = {Link(), RowFlag::kPrologue};
    return;
  }
  Lineage lineage = LineageOf(instruction.instruction->getDebugLoc());
  instruction.own = lineage.link;
  if (lineage.link.none()) return;
  if (lineage.repaired) {
    instruction.owner = {lineage.link, RowFlag::kInferred};
    return;
  }
  // An operation on memory may have swallowed a load; the location names the operation only.
  Link all = sets_.Union(lineage.link, AccessedMemory(*instruction.instruction, /*loads_only=*/true));
  instruction.owner = {all, all.is_set() ? RowFlag::kShared : RowFlag::kExact};
}

// The owners of the IR loads and stores that `instruction` performs.
Link LocationRepair::AccessedMemory(const llvm::MachineInstr& instruction, bool loads_only) const {
  Link link;
  if (instruction.isCall()) return link;
  for (const llvm::MachineMemOperand* memory : instruction.memoperands()) {
    if (memory->getValue() == nullptr) continue;
    Place place{instruction.getParent()->getBasicBlock(), memory->getValue()};
    if (memory->isLoad()) link = sets_.Union(link, loads_.lookup(place));
    if (memory->isStore() && !loads_only) link = sets_.Union(link, stores_.lookup(place));
  }
  return link;
}

// Plain loads, stores, calls and the ends of blocks can be found again in the IR.
Link LocationRepair::FromIr(const llvm::MachineInstr& instruction) const {
  const llvm::BasicBlock* block = instruction.getParent()->getBasicBlock();
  if (instruction.isCall()) {
    const llvm::Value* callee = Callee(instruction);
    return callee == nullptr ? Link() : calls_.lookup({block, callee});
  }
  if (instruction.isTerminator() && block != nullptr) {
    return LineageOf(block->getTerminator()->getDebugLoc()).link;
  }
  const bool plain_store = instruction.mayStore() && !instruction.mayLoad();
  return instruction.canFoldAsLoad() || plain_store ? AccessedMemory(instruction, false) : Link();
}

Link LocationRepair::FirstReader(const Block& block, std::size_t from, llvm::Register reg, int blocks) const {
  for (std::size_t i = from; i < block.end; ++i) {
    const llvm::MachineInstr& later = *instructions_[i].instruction;
    if (later.readsRegister(reg, &registers_)) return instructions_[i].own;
    if (later.modifiesRegister(reg, &registers_)) return Link();
  }
  if (blocks == 0) return Link();
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    if (!after->isLiveIn(reg.asMCReg())) continue;
    const Block& next = blocks_[block_of_.lookup(after)];
    if (Link link = FirstReader(next, next.begin, reg, blocks - 1); !link.none()) return link;
  }
  return Link();
}

// The value is made for whoever reads it.
Link LocationRepair::FromReader(const Block& block, std::size_t at) const {
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!operand.isReg() || !operand.isDef() || operand.isDead() || !operand.getReg().isPhysical()) continue;
    if (Link link = FirstReader(block, at + 1, operand.getReg(), kReaderBlocks); !link.none()) return link;
  }
  return Link();
}

// What is stored, compared or moved on was made by somebody.
Link LocationRepair::FromWriter(const Block& block, std::size_t at) const {
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!operand.isReg() || !operand.isUse() || !operand.getReg().isPhysical()) continue;
    for (std::size_t i = at; i-- > block.begin;) {
      if (!instructions_[i].instruction->modifiesRegister(operand.getReg(), &registers_)) continue;
      if (!instructions_[i].own.none()) return instructions_[i].own;
      break;
    }
  }
  return Link();
}

// What a call gives back is read by others; its arguments are made for it. A store or a jump has no readers.
Link LocationRepair::FromRegisters(const Block& block, std::size_t at) const {
  const bool writers_first = instructions_[at].instruction->isCall();
  Link link = writers_first ? FromWriter(block, at) : FromReader(block, at);
  if (!link.none()) return link;
  return writers_first ? FromReader(block, at) : FromWriter(block, at);
}

Link LocationRepair::FromOtherBlock(const Block& block) const {
  for (const llvm::MachineBasicBlock* before : block.block->predecessors()) {
    const Block& other = blocks_[block_of_.lookup(before)];
    if (other.end > other.begin && !instructions_[other.end - 1].own.none()) {
      return instructions_[other.end - 1].own;
    }
  }
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    const Block& other = blocks_[block_of_.lookup(after)];
    if (other.end > other.begin && !instructions_[other.begin].own.none()) {
      return instructions_[other.begin].own;
    }
  }
  return Link();
}

Link LocationRepair::FromNeighbour(const Block& block, std::size_t at) const {
  if (at > block.begin && !instructions_[at - 1].own.none()) return instructions_[at - 1].own;
  const bool ends_block = instructions_[at].instruction->isTerminator();
  if (!ends_block && at + 1 < block.end && !instructions_[at + 1].own.none()) {
    return instructions_[at + 1].own;
  }
  return FromOtherBlock(block);
}

bool LocationRepair::RepairRound(Link (LocationRepair::*infer)(const Block&, std::size_t) const) {
  bool changed = false;
  for (const Block& block : blocks_) {
    for (std::size_t i = block.begin; i < block.end; ++i) {
      Instruction& instruction = instructions_[i];
      if (!instruction.own.none() || instruction.owner.flag == RowFlag::kPrologue) continue;
      Link link = (this->*infer)(block, i);
      if (link.none()) continue;
      instruction.own = link;
      instruction.owner = {link, RowFlag::kInferred};
      changed = true;
    }
  }
  return changed;
}

void LocationRepair::Repair() {
  for (Instruction& instruction : instructions_) {
    if (!instruction.own.none() || instruction.owner.flag == RowFlag::kPrologue) continue;
    instruction.own = FromIr(*instruction.instruction);
    if (!instruction.own.none()) instruction.owner = {instruction.own, RowFlag::kInferred};
  }
  // First what registers tell, until they tell no more; only then what merely stands near.
  while (RepairRound(&LocationRepair::FromRegisters)) {
  }
  while (RepairRound(&LocationRepair::FromNeighbour)) {
  }
}

}  // namespace tailor::jit
