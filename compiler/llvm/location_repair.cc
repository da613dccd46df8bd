#include "compiler/llvm/location_repair.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineMemOperand.h>
#include <llvm/CodeGen/PseudoSourceValue.h>
#include <llvm/CodeGen/TargetFrameLowering.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/llvm/line_code.h"
#include "compiler/llvm/llvm_api.h"

namespace tailor::jit {
namespace {

using tagging::Link;
using tagging::RowFlag;

// How many blocks ahead a reader of a register is looked for.
constexpr int kReaderBlocks = 4;
// A value with more users than these is looked up in an index of them.
constexpr unsigned kFewUsers = 4;

bool EmitsCode(const llvm::MachineInstr& instruction) {
  return !instruction.isMetaInstruction() && !instruction.isPosition();
}

const llvm::Value* Callee(const llvm::MachineInstr& call) {
  const llvm::MachineOperand& target = call.getOperand(0);
  return target.isGlobal() ? target.getGlobal() : nullptr;
}

bool IsLiveIn(const llvm::MachineBasicBlock& block, llvm::Register reg,
              const llvm::TargetRegisterInfo& registers) {
  for (llvm::MCRegAliasIterator alias(reg.asMCReg(), &registers, /*IncludeSelf=*/true); alias.isValid();
       ++alias)
    if (block.isLiveIn(*alias)) return true;
  return false;
}

// The spill slot that a memory access goes to, by frame index.
std::optional<int> SlotOf(const llvm::MachineMemOperand& memory) {
  const auto* slot = llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(memory.getPseudoValue());
  return slot == nullptr ? std::nullopt : std::optional<int>(slot->getFrameIndex());
}

// The operand of an operation that was folded onto its spill slot says that it stores, not that it loads.
bool ReadsSlot(const llvm::MachineInstr& instruction, int slot) {
  return llvm::any_of(instruction.memoperands(), [&](const llvm::MachineMemOperand* memory) {
    return (memory->isLoad() || instruction.mayLoad()) && SlotOf(*memory) == slot;
  });
}

bool WritesSlot(const llvm::MachineInstr& instruction, int slot) {
  return llvm::any_of(instruction.memoperands(), [&](const llvm::MachineMemOperand* memory) {
    return memory->isStore() && SlotOf(*memory) == slot;
  });
}

}  // namespace

// Before a return LLVM takes the stack pointer back from the frame pointer, by lea or mov, with no flag and
// with the location of the return.
bool LocationRepair::IsFrameCode(const llvm::MachineInstr& instruction) const {
  if (instruction.getFlag(llvm::MachineInstr::FrameSetup) ||
      instruction.getFlag(llvm::MachineInstr::FrameDestroy))
    return true;
  if (!frame_pointer_ || instruction.getNumExplicitDefs() != 1) return false;
  const llvm::MachineOperand& made = instruction.getOperand(0);
  return made.isReg() && made.getReg() == stack_pointer_ &&
         instruction.readsRegister(frame_pointer_, nullptr);
}

void LocationRepair::Begin(const llvm::MachineFunction& function) {
  function_ = &function;
  registers_ = function.getSubtarget().getRegisterInfo();
  const bool keeps_frame_pointer = function.getSubtarget().getFrameLowering()->hasFP(function);
  frame_pointer_ = keeps_frame_pointer ? registers_->getFrameRegister(function) : llvm::Register();
  stack_pointer_ = function.getSubtarget().getTargetLowering()->getStackPointerRegisterToSaveRestore();
  instructions_.clear();
  blocks_.clear();
  block_of_.assign(function.getNumBlockIDs(), 0);
  gaps_.clear();
  for (Owners& users : users_) users.clear();
  indexed_.clear();
  indexed_whole_.clear();
  slot_writers_.reset();
  overlapping_.resize(registers_->getNumRegs());
  first_writers_.clear();
  for (const llvm::MachineBasicBlock& block : function) {
    std::size_t begin = instructions_.size();
    for (const llvm::MachineInstr& instruction : block) {
      if (!EmitsCode(instruction)) continue;
      instructions_.push_back({&instruction, {}, {}});
      Record(instructions_.back());
    }
    block_of_[static_cast<std::size_t>(block.getNumber())] = blocks_.size();
    blocks_.push_back({&block, begin, instructions_.size()});
  }
}

bool LocationRepair::IsUse(const llvm::Instruction& instruction, const llvm::Value& value, Use use) {
  if (use == Use::kLoad) return llvm::isa<llvm::LoadInst>(instruction);
  if (use == Use::kStore) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    return store != nullptr && store->getPointerOperand() == &value;
  }
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call->getCalledOperand() == &value;
}

// By block, or for the function as a whole: code moves between blocks.
void LocationRepair::Index(const llvm::Value& value, bool by_block) const {
  for (const llvm::User* user : value.users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr || instruction->getFunction() != &function_->getFunction()) continue;
    for (int use = 0; use < kUses; ++use) {
      if (!IsUse(*instruction, value, static_cast<Use>(use))) continue;
      Link& link = users_[use][{by_block ? instruction->getParent() : nullptr, &value}];
      link = sets_.Union(link, LineageOf(instruction->getDebugLoc()).link);
    }
  }
}

// The owners of all that use `value` so in `block` (null: in the function).
Link LocationRepair::OwnersOf(Use use, const llvm::BasicBlock* block, const llvm::Value& value) const {
  const bool by_block = block != nullptr;
  if (value.hasNUsesOrMore(kFewUsers + 1)) {
    if ((by_block ? indexed_ : indexed_whole_).insert(&value).second) Index(value, by_block);
    return users_[static_cast<int>(use)].lookup({block, &value});
  }
  Link link;
  for (const llvm::User* user : value.users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr || !IsUse(*instruction, value, use)) continue;
    if (by_block ? instruction->getParent() != block
                 : instruction->getFunction() != &function_->getFunction())
      continue;
    link = sets_.Union(link, LineageOf(instruction->getDebugLoc()).link);
  }
  return link;
}

void LocationRepair::IndexSlotWriters() const {
  slot_writers_.emplace();
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (IsFrameCode(*instructions_[i].instruction)) continue;
    for (const llvm::MachineMemOperand* memory : instructions_[i].instruction->memoperands()) {
      const std::optional<int> slot = SlotOf(*memory);
      if (slot && memory->isStore()) (*slot_writers_)[*slot].push_back(i);
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
  const llvm::BasicBlock* block = instruction.instruction->getParent()->getBasicBlock();
  Link all = lineage.link;
  if (block != nullptr)
    all = sets_.Union(all, AccessedMemory(*instruction.instruction, /*loads_only=*/true, block));
  instruction.owner = {all, all.is_set() ? RowFlag::kShared : RowFlag::kExact};
}

// The owners of the IR loads and stores of `block` (null: of the function) that `instruction` performs.
Link LocationRepair::AccessedMemory(const llvm::MachineInstr& instruction, bool loads_only,
                                    const llvm::BasicBlock* block) const {
  Link link;
  if (instruction.isCall()) return link;
  for (const llvm::MachineMemOperand* memory : instruction.memoperands()) {
    if (memory->getValue() == nullptr) continue;
    if (memory->isLoad()) link = sets_.Union(link, OwnersOf(Use::kLoad, block, *memory->getValue()));
    if (memory->isStore() && !loads_only)
      link = sets_.Union(link, OwnersOf(Use::kStore, block, *memory->getValue()));
  }
  return link;
}

// Plain loads, stores, calls and the ends of blocks can be found again in the IR.
Link LocationRepair::FromIr(const Block&, std::size_t at) const {
  const llvm::MachineInstr& instruction = *instructions_[at].instruction;
  const llvm::BasicBlock* block = instruction.getParent()->getBasicBlock();
  if (instruction.isCall()) {
    const llvm::Value* callee = Callee(instruction);
    return callee == nullptr ? Link() : OwnersOf(Use::kCall, block, *callee);
  }
  if (instruction.isTerminator() && block != nullptr) {
    return LineageOf(block->getTerminator()->getDebugLoc()).link;
  }
  if (Link link = AccessedMemory(instruction, false, block); !link.none()) return link;
  return AccessedMemory(instruction, false, nullptr);
}

const llvm::BitVector& LocationRepair::Overlapping(llvm::Register reg) const {
  llvm::BitVector& overlapping = overlapping_[reg.id()];
  if (overlapping.empty()) {
    overlapping.resize(registers_->getNumRegs());
    for (llvm::MCRegAliasIterator alias(reg.asMCReg(), registers_, /*IncludeSelf=*/true); alias.isValid();
         ++alias)
      overlapping.set(llvm::MCRegister(*alias).id());
  }
  return overlapping;
}

LocationRepair::Touch LocationRepair::TouchOf(const llvm::MachineInstr& instruction, llvm::Register reg,
                                              const llvm::BitVector& overlapping) {
  Touch touch{false, false};
  for (const llvm::MachineOperand& operand : instruction.operands()) {
    if (operand.isRegMask()) {
      touch.writes |= operand.clobbersPhysReg(reg.asMCReg());
    } else if (operand.isReg() && operand.getReg().isPhysical() && overlapping[operand.getReg().id()]) {
      (operand.isDef() ? touch.writes : touch.reads) = true;
    }
  }
  return touch;
}

Link LocationRepair::FirstReader(const Block& block, std::size_t from, llvm::Register reg, int blocks) const {
  const llvm::BitVector& overlapping = Overlapping(reg);
  for (std::size_t i = from; i < block.end; ++i) {
    const Touch touch = TouchOf(*instructions_[i].instruction, reg, overlapping);
    if (touch.reads) return instructions_[i].own;
    if (touch.writes) return Link();
  }
  if (blocks == 0) return Link();
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    if (!after->isLiveIn(reg.asMCReg())) continue;
    const Block& next = BlockOf(*after);
    if (Link link = FirstReader(next, next.begin, reg, blocks - 1); !link.none()) return link;
  }
  return Link();
}

// The nearest reader, however far: breadth first along the paths on which nobody overwrites the place.
Link LocationRepair::Reader(const Block& block, std::size_t from, const PlaceInFrame& place,
                            Readers readers) const {
  const llvm::BitVector no_register;
  const llvm::BitVector& overlapping = place.slot ? no_register : Overlapping(place.reg);
  auto touch_of = [&](const llvm::MachineInstr& instruction) {
    if (!place.slot) return TouchOf(instruction, place.reg, overlapping);
    if (instruction.memoperands_empty() || IsFrameCode(instruction)) return Touch{false, false};
    return Touch{ReadsSlot(instruction, *place.slot), WritesSlot(instruction, *place.slot)};
  };
  llvm::SmallPtrSet<const llvm::MachineBasicBlock*, 16> seen;
  llvm::SmallVector<std::pair<const Block*, std::size_t>, 16> open{{&block, from}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [here, begin] = open[i];
    bool overwritten = false;
    for (std::size_t at = begin; at < here->end && !overwritten; ++at) {
      const Touch touch = touch_of(*instructions_[at].instruction);
      const Link own = instructions_[at].own;
      if (touch.reads && (readers == Readers::kFirst || !own.none())) return own;
      overwritten = touch.writes;
    }
    if (overwritten) continue;
    for (const llvm::MachineBasicBlock* after : here->block->successors()) {
      if (!place.slot && !IsLiveIn(*after, place.reg, *registers_)) continue;
      if (!seen.insert(after).second) continue;
      const Block& next = BlockOf(*after);
      open.emplace_back(&next, next.begin);
    }
  }
  return Link();
}

// A register whose value may be read.
bool LocationRepair::WritesRegister(const llvm::MachineOperand& operand) {
  return operand.isReg() && operand.isDef() && !operand.isDead() && operand.getReg().isPhysical();
}

// Without optimisation every value is spilled, by whoever made it.
bool LocationRepair::FollowsSlots() const {
  return function_->getTarget().getOptLevel() != CodeGenLevel::None;
}

bool LocationRepair::CanBeRead(const llvm::MachineInstr& instruction) const {
  return FollowsSlots() || llvm::any_of(instruction.operands(), WritesRegister);
}

// A spilled value waits for its reload.
Link LocationRepair::FromSlotReader(const Block& block, std::size_t at, Readers readers) const {
  if (!FollowsSlots()) return Link();
  for (const llvm::MachineMemOperand* memory : instructions_[at].instruction->memoperands()) {
    const std::optional<int> slot = SlotOf(*memory);
    if (!slot || !memory->isStore()) continue;
    if (Link link = Reader(block, at + 1, {{}, slot}, readers); !link.none()) return link;
  }
  return Link();
}

// It was put there by the store before, in the order of the layout.
Link LocationRepair::FromSlotWriter(std::size_t at) const {
  for (const llvm::MachineMemOperand* memory : instructions_[at].instruction->memoperands()) {
    const std::optional<int> slot = SlotOf(*memory);
    if (!slot || !memory->isLoad()) continue;
    if (!slot_writers_) IndexSlotWriters();
    auto writers = slot_writers_->find(*slot);
    if (writers == slot_writers_->end()) continue;
    auto next = std::lower_bound(writers->second.begin(), writers->second.end(), at);
    return instructions_[next == writers->second.begin() ? writers->second.back() : *std::prev(next)].own;
  }
  return Link();
}

// The value is made for whoever reads it.
Link LocationRepair::FromReader(const Block& block, std::size_t at) const {
  if (instructions_[at].instruction->isCall()) return Link();
  if (Link link = FromSlotReader(block, at, Readers::kFirst); !link.none()) return link;
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!WritesRegister(operand)) continue;
    if (Link link = FirstReader(block, at + 1, operand.getReg(), kReaderBlocks); !link.none()) return link;
  }
  return Link();
}

Link LocationRepair::FromAnyReader(const Block& block, std::size_t at) const {
  if (instructions_[at].instruction->isCall()) return Link();
  if (Link link = FromSlotReader(block, at, Readers::kOwned); !link.none()) return link;
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!WritesRegister(operand)) continue;
    if (Link link = Reader(block, at + 1, {operand.getReg(), {}}, Readers::kOwned); !link.none()) return link;
  }
  return Link();
}

// A jump belongs to what it leads to.
Link LocationRepair::FromTarget(const Block& block, std::size_t at) const {
  if (!instructions_[at].instruction->isUnconditionalBranch()) return Link();
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    const Block& next = BlockOf(*after);
    if (next.end > next.begin && !instructions_[next.begin].own.none()) return instructions_[next.begin].own;
  }
  return Link();
}

// What is stored, compared or moved on was made by somebody.
Link LocationRepair::FromWriter(const Block& block, std::size_t at) const {
  if (Link link = FromSlotWriter(at); !link.none()) return link;
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!operand.isReg() || !operand.isUse() || !operand.getReg().isPhysical()) continue;
    // Nothing but frame code writes it.
    if (operand.getReg() == frame_pointer_) continue;
    const llvm::BitVector& overlapping = Overlapping(operand.getReg());
    for (std::size_t i = at; i-- > block.begin;) {
      if (!TouchOf(*instructions_[i].instruction, operand.getReg(), overlapping).writes) continue;
      if (!instructions_[i].own.none()) return instructions_[i].own;
      break;
    }
  }
  return Link();
}

// A store or a jump has no readers; the arguments of a call are made for it.
Link LocationRepair::FromRegisters(const Block& block, std::size_t at) const {
  Link link = FromReader(block, at);
  return link.none() ? FromWriter(block, at) : link;
}

// The first value that is put into a register in this function.
Link LocationRepair::FirstWriter(llvm::Register reg) const {
  auto [it, added] = first_writers_.try_emplace(reg.id());
  if (!added) return it->second;
  const llvm::BitVector& overlapping = Overlapping(reg);
  for (const Instruction& each : instructions_) {
    if (each.own.none() || !TouchOf(*each.instruction, reg, overlapping).writes) continue;
    it->second = each.own;
    break;
  }
  return it->second;
}

// The first value that is kept on the stack.
Link LocationRepair::FirstInFrame() const {
  for (const Instruction& each : instructions_) {
    if (each.own.none()) continue;
    for (const llvm::MachineMemOperand* memory : each.instruction->memoperands()) {
      if (SlotOf(*memory)) return each.own;
    }
  }
  return Link();
}

// Saving a register that the caller uses: for the first value that is put into it here. Room on the stack:
// for the first value that is kept there.
Link LocationRepair::FromWhatIsKept(const llvm::MachineInstr& frame_code) const {
  llvm::Register saved;
  for (const llvm::CalleeSavedInfo& info : function_->getFrameInfo().getCalleeSavedInfo()) {
    const llvm::Register reg = info.getReg();
    const bool saves = frame_code.mayStore() && frame_code.readsRegister(reg, nullptr);
    const bool restores = frame_code.mayLoad() && frame_code.modifiesRegister(reg, nullptr);
    if (saves || restores) saved = reg;
  }
  const bool keeps_frame_pointer =
      frame_pointer_ && (frame_code.modifiesRegister(frame_pointer_, nullptr) ||
                         (frame_code.mayStore() && frame_code.readsRegister(frame_pointer_, nullptr)));
  if (keeps_frame_pointer) return Link();
  if (saved) return FirstWriter(saved);
  return frame_code.modifiesRegister(stack_pointer_, nullptr) ? FirstInFrame() : Link();
}

Link LocationRepair::FromOtherBlock(const Block& block) const {
  for (const llvm::MachineBasicBlock* before : block.block->predecessors()) {
    const Block& other = BlockOf(*before);
    if (other.end > other.begin && !instructions_[other.end - 1].own.none()) {
      return instructions_[other.end - 1].own;
    }
  }
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    const Block& other = BlockOf(*after);
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

void LocationRepair::RepairBy(Link (LocationRepair::*infer)(const Block&, std::size_t) const, Gaps which) {
  for (bool changed = true; changed;) {
    changed = false;
    std::erase_if(gaps_, [&](const Gap& gap) {
      if (which == Gaps::kThatCanBeRead && !gap.can_be_read) return false;
      Instruction& instruction = instructions_[gap.at];
      const Link link = (this->*infer)(blocks_[gap.block], gap.at);
      if (link.none()) return false;
      instruction.own = link;
      instruction.owner = {link, RowFlag::kInferred};
      changed = true;
      return true;
    });
  }
}

void LocationRepair::Repair() {
  std::vector<std::size_t> frame_code;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (std::size_t i = blocks_[block].begin; i < blocks_[block].end; ++i) {
      if (instructions_[i].owner.flag == RowFlag::kPrologue) {
        frame_code.push_back(i);
      } else if (instructions_[i].own.none()) {
        gaps_.push_back({block, i, CanBeRead(*instructions_[i].instruction)});
      }
    }
  }
  // First what the IR tells; then who reads, near and far, then also who wrote, until they tell no more; only
  // then what merely stands near.
  RepairBy(&LocationRepair::FromIr, Gaps::kAll);
  RepairBy(&LocationRepair::FromReader, Gaps::kThatCanBeRead);
  RepairBy(&LocationRepair::FromAnyReader, Gaps::kThatCanBeRead);
  RepairBy(&LocationRepair::FromTarget, Gaps::kAll);
  RepairBy(&LocationRepair::FromRegisters, Gaps::kAll);
  RepairBy(&LocationRepair::FromNeighbour, Gaps::kAll);
  for (std::size_t i : frame_code) {
    const Link link = FromWhatIsKept(*instructions_[i].instruction);
    if (!link.none()) instructions_[i].owner = {link, RowFlag::kInferred};
  }
}

}  // namespace tailor::jit
