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

bool emits_code(const llvm::MachineInstr& instruction) {
  return !instruction.isMetaInstruction() && !instruction.isPosition();
}

const llvm::Value* callee(const llvm::MachineInstr& call) {
  const llvm::MachineOperand& target = call.getOperand(0);
  return target.isGlobal() ? target.getGlobal() : nullptr;
}

bool is_live_in(const llvm::MachineBasicBlock& block, llvm::Register reg,
                const llvm::TargetRegisterInfo& registers) {
  for (llvm::MCRegAliasIterator alias(reg.asMCReg(), &registers, /*IncludeSelf=*/true); alias.isValid();
       ++alias)
    if (block.isLiveIn(*alias)) return true;
  return false;
}

// The spill slot that a memory access goes to, by frame index.
std::optional<int> slot_of(const llvm::MachineMemOperand& memory) {
  const auto* slot = llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(memory.getPseudoValue());
  return slot == nullptr ? std::nullopt : std::optional<int>(slot->getFrameIndex());
}

// The operand of an operation that was folded onto its spill slot says that it stores, not that it loads.
bool reads_slot(const llvm::MachineInstr& instruction, int slot) {
  return llvm::any_of(instruction.memoperands(), [&](const llvm::MachineMemOperand* memory) {
    return (memory->isLoad() || instruction.mayLoad()) && slot_of(*memory) == slot;
  });
}

bool writes_slot(const llvm::MachineInstr& instruction, int slot) {
  return llvm::any_of(instruction.memoperands(), [&](const llvm::MachineMemOperand* memory) {
    return memory->isStore() && slot_of(*memory) == slot;
  });
}

}  // namespace

// Before a return LLVM takes the stack pointer back from the frame pointer, by lea or mov, with no flag and
// with the location of the return.
bool LocationRepair::is_frame_code(const llvm::MachineInstr& instruction) const {
  if (instruction.getFlag(llvm::MachineInstr::FrameSetup) ||
      instruction.getFlag(llvm::MachineInstr::FrameDestroy))
    return true;
  if (!frame_pointer_ || instruction.getNumExplicitDefs() != 1) return false;
  const llvm::MachineOperand& made = instruction.getOperand(0);
  return made.isReg() && made.getReg() == stack_pointer_ &&
         instruction.readsRegister(frame_pointer_, nullptr);
}

void LocationRepair::begin(const llvm::MachineFunction& function) {
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
      if (!emits_code(instruction)) continue;
      instructions_.push_back({&instruction, {}, {}});
      record(instructions_.back());
    }
    block_of_[static_cast<std::size_t>(block.getNumber())] = blocks_.size();
    blocks_.push_back({&block, begin, instructions_.size()});
  }
}

bool LocationRepair::is_use(const llvm::Instruction& instruction, const llvm::Value& value, Use use) {
  if (use == Use::kLoad) return llvm::isa<llvm::LoadInst>(instruction);
  if (use == Use::kStore) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    return store != nullptr && store->getPointerOperand() == &value;
  }
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call->getCalledOperand() == &value;
}

// By block, or for the function as a whole: code moves between blocks.
void LocationRepair::index(const llvm::Value& value, bool by_block) const {
  for (const llvm::User* user : value.users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr || instruction->getFunction() != &function_->getFunction()) continue;
    for (int use = 0; use < kUses; ++use) {
      if (!is_use(*instruction, value, static_cast<Use>(use))) continue;
      Link& link = users_[use][{by_block ? instruction->getParent() : nullptr, &value}];
      link = sets_.united(link, lineage_of(instruction->getDebugLoc()).link);
    }
  }
}

// The owners of all that use `value` so in `block` (null: in the function).
Link LocationRepair::owners_of(Use use, const llvm::BasicBlock* block, const llvm::Value& value) const {
  const bool by_block = block != nullptr;
  if (value.hasNUsesOrMore(kFewUsers + 1)) {
    if ((by_block ? indexed_ : indexed_whole_).insert(&value).second) index(value, by_block);
    return users_[static_cast<int>(use)].lookup({block, &value});
  }
  Link link;
  for (const llvm::User* user : value.users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr || !is_use(*instruction, value, use)) continue;
    if (by_block ? instruction->getParent() != block
                 : instruction->getFunction() != &function_->getFunction())
      continue;
    link = sets_.united(link, lineage_of(instruction->getDebugLoc()).link);
  }
  return link;
}

void LocationRepair::index_slot_writers() const {
  slot_writers_.emplace();
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (is_frame_code(*instructions_[i].instruction)) continue;
    for (const llvm::MachineMemOperand* memory : instructions_[i].instruction->memoperands()) {
      const std::optional<int> slot = slot_of(*memory);
      if (slot && memory->isStore()) (*slot_writers_)[*slot].push_back(i);
    }
  }
}

void LocationRepair::record(Instruction& instruction) const {
  if (is_frame_code(*instruction.instruction)) {
    instruction.owner = {Link(), RowFlag::kPrologue};
    return;
  }
  Lineage lineage = lineage_of(instruction.instruction->getDebugLoc());
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
    all = sets_.united(all, accessed_memory(*instruction.instruction, /*loads_only=*/true, block));
  instruction.owner = {all, all.is_set() ? RowFlag::kShared : RowFlag::kExact};
}

// The owners of the IR loads and stores of `block` (null: of the function) that `instruction` performs.
Link LocationRepair::accessed_memory(const llvm::MachineInstr& instruction, bool loads_only,
                                     const llvm::BasicBlock* block) const {
  Link link;
  if (instruction.isCall()) return link;
  for (const llvm::MachineMemOperand* memory : instruction.memoperands()) {
    if (memory->getValue() == nullptr) continue;
    if (memory->isLoad()) link = sets_.united(link, owners_of(Use::kLoad, block, *memory->getValue()));
    if (memory->isStore() && !loads_only)
      link = sets_.united(link, owners_of(Use::kStore, block, *memory->getValue()));
  }
  return link;
}

// Plain loads, stores, calls and the ends of blocks can be found again in the IR.
Link LocationRepair::from_ir(const Block&, std::size_t at) const {
  const llvm::MachineInstr& instruction = *instructions_[at].instruction;
  const llvm::BasicBlock* block = instruction.getParent()->getBasicBlock();
  if (instruction.isCall()) {
    const llvm::Value* called = callee(instruction);
    return called == nullptr ? Link() : owners_of(Use::kCall, block, *called);
  }
  if (instruction.isTerminator() && block != nullptr) {
    return lineage_of(block->getTerminator()->getDebugLoc()).link;
  }
  if (Link link = accessed_memory(instruction, false, block); !link.none()) return link;
  return accessed_memory(instruction, false, nullptr);
}

const llvm::BitVector& LocationRepair::overlapping(llvm::Register reg) const {
  llvm::BitVector& registers = overlapping_[reg.id()];
  if (registers.empty()) {
    registers.resize(registers_->getNumRegs());
    for (llvm::MCRegAliasIterator alias(reg.asMCReg(), registers_, /*IncludeSelf=*/true); alias.isValid();
         ++alias)
      registers.set(llvm::MCRegister(*alias).id());
  }
  return registers;
}

LocationRepair::Touch LocationRepair::touch_of(const llvm::MachineInstr& instruction, llvm::Register reg,
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

Link LocationRepair::first_reader(const Block& block, std::size_t from, llvm::Register reg,
                                  int blocks) const {
  const llvm::BitVector& overlaps = overlapping(reg);
  for (std::size_t i = from; i < block.end; ++i) {
    const Touch touch = touch_of(*instructions_[i].instruction, reg, overlaps);
    if (touch.reads) return instructions_[i].own;
    if (touch.writes) return Link();
  }
  if (blocks == 0) return Link();
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    if (!after->isLiveIn(reg.asMCReg())) continue;
    const Block& next = block_of(*after);
    if (Link link = first_reader(next, next.begin, reg, blocks - 1); !link.none()) return link;
  }
  return Link();
}

// The nearest reader, however far: breadth first along the paths on which nobody overwrites the place.
Link LocationRepair::reader(const Block& block, std::size_t from, const PlaceInFrame& place,
                            Readers readers) const {
  const llvm::BitVector no_register;
  const llvm::BitVector& overlaps = place.slot ? no_register : overlapping(place.reg);
  auto touch = [&](const llvm::MachineInstr& instruction) {
    if (!place.slot) return touch_of(instruction, place.reg, overlaps);
    if (instruction.memoperands_empty() || is_frame_code(instruction)) return Touch{false, false};
    return Touch{reads_slot(instruction, *place.slot), writes_slot(instruction, *place.slot)};
  };
  llvm::SmallPtrSet<const llvm::MachineBasicBlock*, 16> seen;
  llvm::SmallVector<std::pair<const Block*, std::size_t>, 16> open{{&block, from}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [here, begin] = open[i];
    bool overwritten = false;
    for (std::size_t at = begin; at < here->end && !overwritten; ++at) {
      const Touch touched = touch(*instructions_[at].instruction);
      const Link own = instructions_[at].own;
      if (touched.reads && (readers == Readers::kFirst || !own.none())) return own;
      overwritten = touched.writes;
    }
    if (overwritten) continue;
    for (const llvm::MachineBasicBlock* after : here->block->successors()) {
      if (!place.slot && !is_live_in(*after, place.reg, *registers_)) continue;
      if (!seen.insert(after).second) continue;
      const Block& next = block_of(*after);
      open.emplace_back(&next, next.begin);
    }
  }
  return Link();
}

// A register whose value may be read.
bool LocationRepair::writes_register(const llvm::MachineOperand& operand) {
  return operand.isReg() && operand.isDef() && !operand.isDead() && operand.getReg().isPhysical();
}

// Without optimisation every value is spilled, by its maker.
bool LocationRepair::follows_slots() const {
  return function_->getTarget().getOptLevel() != CodeGenLevel::None;
}

bool LocationRepair::can_be_read(const llvm::MachineInstr& instruction) const {
  return follows_slots() || llvm::any_of(instruction.operands(), writes_register);
}

// A spilled value waits for its reload.
Link LocationRepair::from_slot_reader(const Block& block, std::size_t at, Readers readers) const {
  if (!follows_slots()) return Link();
  for (const llvm::MachineMemOperand* memory : instructions_[at].instruction->memoperands()) {
    const std::optional<int> slot = slot_of(*memory);
    if (!slot || !memory->isStore()) continue;
    if (Link link = reader(block, at + 1, {{}, slot}, readers); !link.none()) return link;
  }
  return Link();
}

// It was put there by the store before, in the order of the layout.
Link LocationRepair::from_slot_writer(std::size_t at) const {
  for (const llvm::MachineMemOperand* memory : instructions_[at].instruction->memoperands()) {
    const std::optional<int> slot = slot_of(*memory);
    if (!slot || !memory->isLoad()) continue;
    if (!slot_writers_) index_slot_writers();
    auto writers = slot_writers_->find(*slot);
    if (writers == slot_writers_->end()) continue;
    auto next = std::lower_bound(writers->second.begin(), writers->second.end(), at);
    return instructions_[next == writers->second.begin() ? writers->second.back() : *std::prev(next)].own;
  }
  return Link();
}

// The value is made for its reader.
Link LocationRepair::from_reader(const Block& block, std::size_t at) const {
  if (instructions_[at].instruction->isCall()) return Link();
  if (Link link = from_slot_reader(block, at, Readers::kFirst); !link.none()) return link;
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!writes_register(operand)) continue;
    if (Link link = first_reader(block, at + 1, operand.getReg(), kReaderBlocks); !link.none()) return link;
  }
  return Link();
}

Link LocationRepair::from_any_reader(const Block& block, std::size_t at) const {
  if (instructions_[at].instruction->isCall()) return Link();
  if (Link link = from_slot_reader(block, at, Readers::kOwned); !link.none()) return link;
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!writes_register(operand)) continue;
    if (Link link = reader(block, at + 1, {operand.getReg(), {}}, Readers::kOwned); !link.none()) return link;
  }
  return Link();
}

// A jump belongs to what it leads to.
Link LocationRepair::from_target(const Block& block, std::size_t at) const {
  if (!instructions_[at].instruction->isUnconditionalBranch()) return Link();
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    const Block& next = block_of(*after);
    if (next.end > next.begin && !instructions_[next.begin].own.none()) return instructions_[next.begin].own;
  }
  return Link();
}

// What is stored, compared or moved on was made by somebody.
Link LocationRepair::from_writer(const Block& block, std::size_t at) const {
  if (Link link = from_slot_writer(at); !link.none()) return link;
  for (const llvm::MachineOperand& operand : instructions_[at].instruction->operands()) {
    if (!operand.isReg() || !operand.isUse() || !operand.getReg().isPhysical()) continue;
    // Nothing but frame code writes it.
    if (operand.getReg() == frame_pointer_) continue;
    const llvm::BitVector& overlaps = overlapping(operand.getReg());
    for (std::size_t i = at; i-- > block.begin;) {
      if (!touch_of(*instructions_[i].instruction, operand.getReg(), overlaps).writes) continue;
      if (!instructions_[i].own.none()) return instructions_[i].own;
      break;
    }
  }
  return Link();
}

// A store or a jump has no readers; the arguments of a call are made for it.
Link LocationRepair::from_registers(const Block& block, std::size_t at) const {
  Link link = from_reader(block, at);
  return link.none() ? from_writer(block, at) : link;
}

// The first value that is put into a register in this function.
Link LocationRepair::first_writer(llvm::Register reg) const {
  auto [it, added] = first_writers_.try_emplace(reg.id());
  if (!added) return it->second;
  const llvm::BitVector& overlaps = overlapping(reg);
  for (const Instruction& each : instructions_) {
    if (each.own.none() || !touch_of(*each.instruction, reg, overlaps).writes) continue;
    it->second = each.own;
    break;
  }
  return it->second;
}

// The first value that is kept on the stack.
Link LocationRepair::first_in_frame() const {
  for (const Instruction& each : instructions_) {
    if (each.own.none()) continue;
    for (const llvm::MachineMemOperand* memory : each.instruction->memoperands()) {
      if (slot_of(*memory)) return each.own;
    }
  }
  return Link();
}

// Saving a register that the caller uses: for the first value that is put into it here. Room on the stack:
// for the first value that is kept there.
Link LocationRepair::from_what_is_kept(const llvm::MachineInstr& frame_code) const {
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
  if (saved) return first_writer(saved);
  return frame_code.modifiesRegister(stack_pointer_, nullptr) ? first_in_frame() : Link();
}

Link LocationRepair::from_other_block(const Block& block) const {
  for (const llvm::MachineBasicBlock* before : block.block->predecessors()) {
    const Block& other = block_of(*before);
    if (other.end > other.begin && !instructions_[other.end - 1].own.none()) {
      return instructions_[other.end - 1].own;
    }
  }
  for (const llvm::MachineBasicBlock* after : block.block->successors()) {
    const Block& other = block_of(*after);
    if (other.end > other.begin && !instructions_[other.begin].own.none()) {
      return instructions_[other.begin].own;
    }
  }
  return Link();
}

Link LocationRepair::from_neighbour(const Block& block, std::size_t at) const {
  if (at > block.begin && !instructions_[at - 1].own.none()) return instructions_[at - 1].own;
  const bool ends_block = instructions_[at].instruction->isTerminator();
  if (!ends_block && at + 1 < block.end && !instructions_[at + 1].own.none()) {
    return instructions_[at + 1].own;
  }
  return from_other_block(block);
}

void LocationRepair::repair_by(Link (LocationRepair::*infer)(const Block&, std::size_t) const, Gaps which) {
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

void LocationRepair::repair() {
  std::vector<std::size_t> frame_code;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (std::size_t i = blocks_[block].begin; i < blocks_[block].end; ++i) {
      if (instructions_[i].owner.flag == RowFlag::kPrologue) {
        frame_code.push_back(i);
      } else if (instructions_[i].own.none()) {
        gaps_.push_back({block, i, can_be_read(*instructions_[i].instruction)});
      }
    }
  }
  // First what the IR tells; then who reads, near and far, then also who wrote, until they tell no more; only
  // then what merely stands near.
  repair_by(&LocationRepair::from_ir, Gaps::kAll);
  repair_by(&LocationRepair::from_reader, Gaps::kThatCanBeRead);
  repair_by(&LocationRepair::from_any_reader, Gaps::kThatCanBeRead);
  repair_by(&LocationRepair::from_target, Gaps::kAll);
  repair_by(&LocationRepair::from_registers, Gaps::kAll);
  repair_by(&LocationRepair::from_neighbour, Gaps::kAll);
  for (std::size_t i : frame_code) {
    const Link link = from_what_is_kept(*instructions_[i].instruction);
    if (!link.none()) instructions_[i].owner = {link, RowFlag::kInferred};
  }
}

}  // namespace tailor::jit
