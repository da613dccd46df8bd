// The lineage log of the step from tasks to LLVM IR, written at the one place where a builder inserts.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/ConstantFolder.h>
#include <llvm/IR/IRBuilder.h>

#include <span>

#include "compiler/llvm/deprecated_ir_names.h"
#include "compiler/tagging/abstraction_tracker.h"
#include "compiler/tagging/link_pool.h"

namespace tailor::jit {

using OwnerMap = llvm::DenseMap<const llvm::Instruction*, tagging::Link>;

// Remembers the owners of instructions that have no number yet: numbers follow the order of the finished
// module, so that they are the lines of its listing. Erased instructions leave stale entries, which nobody
// looks up: an instruction that a tracked builder inserts at the same address replaces them.
// Not thread-safe.
class InstructionLog : public DeprecatedInstructionNames<InstructionLog> {
 public:
  explicit InstructionLog(const tagging::AbstractionTracker& tracker) : tracker_(tracker) {
    owners_.reserve(kInstructions);
  }

  // `instruction` belongs to what is active now.
  void record(const llvm::Instruction* instruction) {
    owners_[instruction] = pool_.intern(tracker_.active());
  }
  // It belongs to `owners`.
  void record(const llvm::Instruction* instruction, std::span<const ComponentId> owners) {
    owners_[instruction] = pool_.intern(owners);
  }

  const OwnerMap& owners() const { return owners_; }
  const tagging::LinkPool& pool() const { return pool_; }

 private:
  // Room for this many from the start: the map of an average query need not be made anew again and again.
  static constexpr unsigned kInstructions = 700;

  const tagging::AbstractionTracker& tracker_;
  OwnerMap owners_;
  tagging::LinkPool pool_;
};

// What an IRBuilder calls for every instruction it inserts.
template <typename Log>
class RecordingInserter final : public llvm::IRBuilderDefaultInserter {
 public:
  // `log` outlives the inserter; null: nothing is recorded.
  explicit RecordingInserter(Log* log = nullptr) : log_(log) {}

#if LLVM_VERSION_MAJOR >= 19
  void InsertHelper(llvm::Instruction* instruction, const llvm::Twine& name,
                    llvm::BasicBlock::iterator where) const override {
    IRBuilderDefaultInserter::InsertHelper(instruction, name, where);
#else
  void InsertHelper(llvm::Instruction* instruction, const llvm::Twine& name, llvm::BasicBlock* block,
                    llvm::BasicBlock::iterator where) const override {
    IRBuilderDefaultInserter::InsertHelper(instruction, name, block, where);
#endif
    if (log_ != nullptr) log_->record(instruction);
  }

 private:
  Log* log_;
};

using TrackedInserter = RecordingInserter<InstructionLog>;
using TrackedBuilder = llvm::IRBuilder<llvm::ConstantFolder, TrackedInserter>;

}  // namespace tailor::jit
