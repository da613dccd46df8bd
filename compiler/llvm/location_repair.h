// Finds the owner of every machine instruction of a finished function, also of those whose location code
// generation lost: spills, reloads, copies, constants, jumps, frame set-up.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>

#include <optional>
#include <vector>

#include "compiler/llvm/native_lineage.h"

namespace tailor::jit {

// Lifecycle: for each function, after its last machine pass, begin() reads what was recorded, repair() fills
// the gaps, instructions() tells. Works on the order of the layout; changes nothing in the function. One
// object serves the functions of a module, so that memory is taken once.
class LocationRepair {
 public:
  struct Instruction {
    const llvm::MachineInstr* instruction;
    NativeOwner owner;
    tagging::Link own;  // without what it swallowed; what others infer from it
  };

  // `sets` receives the union of the owners where one machine instruction does the work of several.
  explicit LocationRepair(tagging::LinkPool& sets) : sets_(sets) {}

  // Forgets the function before. `function` outlives what follows, until the next begin().
  void begin(const llvm::MachineFunction& function);

  // Forgets what was recorded of an instruction. Before repair().
  void hide(std::size_t at) { instructions_[at].owner = {}, instructions_[at].own = {}; }

  // Gives every instruction without owner one that is inferred, in this order: the IR whose memory it
  // accesses or whose function it calls; who next reads a register or a spill slot it writes; who wrote what
  // it reads; its neighbours; the ends of neighbouring blocks. Of frame code, saving a register belongs to
  // the first value that is kept in it, and reserving the frame to the first that is kept there; the rest
  // (the frame pointer, alignment) is prologue.
  void repair();

  // One entry for each instruction that becomes machine code, in the order of the layout.
  const std::vector<Instruction>& instructions() const { return instructions_; }

 private:
  struct Block {
    const llvm::MachineBasicBlock* block;
    std::size_t begin, end;  // in instructions_
  };
  using Place = std::pair<const llvm::BasicBlock*, const llvm::Value*>;
  using Owners = llvm::DenseMap<Place, tagging::Link>;
  // What an IR instruction does with an address or a function.
  enum class Use { kLoad, kStore, kCall };
  static constexpr int kUses = 3;
  struct PlaceInFrame {
    llvm::Register reg;
    std::optional<int> slot;  // a spill slot instead, by frame index
  };
  enum class Readers { kFirst, kOwned };

  // What an instruction does to a register, or to one that overlaps it.
  struct Touch {
    bool reads, writes;
  };
  struct Gap {
    std::size_t block;  // in blocks_
    std::size_t at;     // in instructions_
    bool can_be_read;   // it writes a register or, where such are looked for, a spill slot
  };
  enum class Gaps { kAll, kThatCanBeRead };

  static bool is_use(const llvm::Instruction& instruction, const llvm::Value& value, Use use);
  void index(const llvm::Value& value, bool by_block) const;
  void index_slot_writers() const;
  bool is_frame_code(const llvm::MachineInstr& instruction) const;
  void record(Instruction& instruction) const;
  tagging::Link owners_of(Use use, const llvm::BasicBlock* block, const llvm::Value& value) const;
  tagging::Link accessed_memory(const llvm::MachineInstr& instruction, bool loads_only,
                                const llvm::BasicBlock* block) const;
  const llvm::BitVector& overlapping(llvm::Register reg) const;
  static Touch touch_of(const llvm::MachineInstr& instruction, llvm::Register reg,
                        const llvm::BitVector& overlapping);

  tagging::Link from_ir(const Block& block, std::size_t at) const;
  static bool writes_register(const llvm::MachineOperand& operand);
  bool follows_slots() const;
  tagging::Link from_reader(const Block& block, std::size_t at) const;
  tagging::Link from_slot_reader(const Block& block, std::size_t at, Readers readers) const;
  tagging::Link from_slot_writer(std::size_t at) const;
  tagging::Link first_reader(const Block& block, std::size_t from, llvm::Register reg, int blocks) const;
  tagging::Link reader(const Block& block, std::size_t from, const PlaceInFrame& place,
                       Readers readers) const;
  tagging::Link from_any_reader(const Block& block, std::size_t at) const;
  tagging::Link from_target(const Block& block, std::size_t at) const;
  tagging::Link from_writer(const Block& block, std::size_t at) const;
  tagging::Link from_neighbour(const Block& block, std::size_t at) const;
  tagging::Link from_other_block(const Block& block) const;
  tagging::Link from_registers(const Block& block, std::size_t at) const;
  tagging::Link from_what_is_kept(const llvm::MachineInstr& frame_code) const;
  tagging::Link first_writer(llvm::Register reg) const;
  tagging::Link first_in_frame() const;
  bool can_be_read(const llvm::MachineInstr& instruction) const;
  // Infers as long as anything is found.
  void repair_by(tagging::Link (LocationRepair::*infer)(const Block&, std::size_t) const, Gaps which);

  const Block& block_of(const llvm::MachineBasicBlock& block) const {
    return blocks_[block_of_[static_cast<std::size_t>(block.getNumber())]];
  }

  tagging::LinkPool& sets_;
  const llvm::MachineFunction* function_ = nullptr;
  const llvm::TargetRegisterInfo* registers_ = nullptr;
  llvm::Register frame_pointer_;  // none if the function keeps none
  llvm::Register stack_pointer_;
  std::vector<Instruction> instructions_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> block_of_;  // in blocks_, by the block's number
  std::vector<Gap> gaps_;              // without owner, in the order of the layout
  // Made when first asked for.
  // By Use: who accesses an address, or calls a function, within an IR block; under a null block, in the
  // function.
  mutable Owners users_[kUses];
  mutable llvm::DenseSet<const llvm::Value*> indexed_, indexed_whole_;  // in the maps above
  // The instructions that write a spill slot (by frame index), in the order of the layout: indices of
  // instructions_.
  mutable std::optional<llvm::DenseMap<int, llvm::SmallVector<std::size_t, 4>>> slot_writers_;
  mutable std::vector<llvm::BitVector> overlapping_;  // by register, of all functions
  mutable llvm::DenseMap<unsigned, tagging::Link> first_writers_;
};

}  // namespace tailor::jit
