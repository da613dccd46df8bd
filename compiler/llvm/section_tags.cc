#include "compiler/llvm/section_tags.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <optional>

#include "compiler/llvm/tag_code.h"

namespace tailor::jit {
namespace {

using tagging::Link;

// The tag at a point of the program: none known, or that of the section.
using Known = std::optional<Link>;

class Inserter {
 public:
  Inserter(llvm::Function& function, const SectionTagging& tagging, OwnerMap& owners)
      : function_(function), tagging_(tagging), owners_(owners), builder_(function.getContext()) {}

  void run() {
    for (llvm::BasicBlock& block : function_) {
      for (llvm::Instruction& instruction : block) {
        if (Link link = owners_.lookup(&instruction); !link.none()) last_[&block] = link;
      }
    }
    for (llvm::BasicBlock& block : function_) run_block(block);
  }

 private:
  // What holds at the end of all blocks before it, if they agree. A block without owners of its own is taken
  // to end in anything.
  Known at_start(const llvm::BasicBlock& block) const {
    Known common;
    for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
      auto it = last_.find(before);
      if (it == last_.end() || (common && *common != it->second)) return std::nullopt;
      common = it->second;
    }
    return common;
  }

  // In the entry block the slot's address must be there first.
  llvm::BasicBlock::iterator first_place(llvm::BasicBlock& block) const {
    auto* slot = llvm::dyn_cast_or_null<llvm::Instruction>(tagging_.entry_tag);
    if (slot != nullptr && slot->getParent() == &block) return std::next(slot->getIterator());
    return block.getFirstInsertionPt();
  }

  void run_block(llvm::BasicBlock& block) {
    Known now = at_start(block);
    for (auto it = first_place(block); it != block.end(); ++it) {
      llvm::Instruction& instruction = *it;
      const bool leaves = llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(instruction);
      if (leaves && tagging_.entry_tag != nullptr) {
        write(instruction, tagging_.entry_tag, now.value_or(Link()));
        continue;
      }
      Link link = owners_.lookup(&instruction);
      if (link.none() || now == link || llvm::isa<llvm::AllocaInst>(instruction)) continue;
      write(instruction, builder_.getInt64(tagging_.tag_of(link)), link);
      now = link;
    }
  }

  void write(llvm::Instruction& before, llvm::Value* tag, Link owner) {
    builder_.SetInsertPoint(&before);
    emit_tag_write(builder_, tagging_.strategy, tagging_.slot, tag);
    if (!owner.none()) owners_[before.getPrevNode()] = owner;
  }

  llvm::Function& function_;
  const SectionTagging& tagging_;
  OwnerMap& owners_;
  llvm::IRBuilder<> builder_;
  llvm::DenseMap<const llvm::BasicBlock*, Link> last_;
};

}  // namespace

void insert_section_tags(llvm::Function& function, const SectionTagging& tagging, OwnerMap& owners) {
  Inserter(function, tagging, owners).run();
}

}  // namespace tailor::jit
