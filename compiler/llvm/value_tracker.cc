#include "compiler/llvm/value_tracker.h"

#include <llvm/Analysis/LazyCallGraph.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/ValueHandle.h>

#include "compiler/llvm/location_inference.h"
#include "compiler/llvm/stopwatch.h"

namespace tailor::jit {

using tagging::Link;

class ValueTracker::Handle final : public llvm::CallbackVH {
 public:
  Handle(llvm::Instruction& instruction, ValueTracker& tracker)
      : CallbackVH(&instruction), link(LineageOf(instruction.getDebugLoc()).link), tracker_(tracker) {}

  void deleted() override {
    // The last statement: it ends this object's life.
    tracker_.Deleted(static_cast<const llvm::Instruction*>(getValPtr()));
  }
  void allUsesReplacedWith(llvm::Value* after) override {
    tracker_.Replaced(*llvm::cast<llvm::Instruction>(getValPtr()), after);
  }

  Link link;

 private:
  ValueTracker& tracker_;
};

namespace {

constexpr int kSimplifyDepth = 4;

// Whether `value` went into the computation of `instruction`: then a replacement by it means that the
// computation turned out to be needless, not that somebody else had done it before.
bool ComputedFrom(const llvm::Instruction& instruction, const llvm::Value* value, int depth) {
  for (const llvm::Value* operand : instruction.operands()) {
    if (operand == value) return true;
    const auto* next = llvm::dyn_cast<llvm::Instruction>(operand);
    if (next != nullptr && depth > 1 && ComputedFrom(*next, value, depth - 1)) return true;
  }
  return false;
}

}  // namespace

ValueTracker::ValueTracker(llvm::Module& module, ModuleLineage& lineage)
    : module_(module), lineage_(lineage), scope_(ScopeOf(module)) {
  StopwatchAdd time(lineage_.milliseconds);
  for (llvm::Function& function : module_) Sync(function);
}

ValueTracker::~ValueTracker() = default;

void ValueTracker::Attach(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerAfterPassCallback(
      [this](llvm::StringRef, llvm::Any unit, const llvm::PreservedAnalyses& preserved) {
        if (preserved.areAllPreserved()) return;
        StopwatchAdd time(lineage_.milliseconds);
        if (const auto* function = llvm::any_cast<const llvm::Function*>(&unit)) {
          Sync(const_cast<llvm::Function&>(**function));
        } else if (const auto* loop = llvm::any_cast<const llvm::Loop*>(&unit)) {
          SyncLoop(**loop);
        } else if (const auto* component = llvm::any_cast<const llvm::LazyCallGraph::SCC*>(&unit)) {
          for (llvm::LazyCallGraph::Node& node : **component) Sync(node.getFunction());
        } else {
          for (llvm::Function& each : module_) Sync(each);
        }
      });
}

void ValueTracker::Finish() {
  StopwatchAdd time(lineage_.milliseconds);
  for (llvm::Function& function : module_) Sync(function);
  handles_.clear();
  for (llvm::Function& function : module_) InferLocations(function, scope_);
}

void ValueTracker::Deleted(const llvm::Instruction* instruction) {
  handles_.erase(instruction);
}

void ValueTracker::Sync(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) SyncInstruction(instruction);
  }
}

// Loops are many and small, and a function pass follows that sees the whole.
void ValueTracker::SyncLoop(const llvm::Loop& loop) {
  auto sync = [&](llvm::BasicBlock* block) {
    if (block == nullptr) return;
    for (llvm::Instruction& instruction : *block) SyncInstruction(instruction);
  };
  for (llvm::BasicBlock* block : loop.blocks()) sync(block);
  sync(loop.getLoopPredecessor());
  sync(loop.getExitBlock());
}

void ValueTracker::SyncInstruction(llvm::Instruction& instruction) {
  auto it = handles_.find(&instruction);
  Link located = LineageOf(instruction.getDebugLoc()).link;
  if (it == handles_.end()) {
    if (!located.none()) Track(instruction);
    return;
  }
  // LLVM drops or blurs the location of what it moves between blocks; the owner has not changed by that.
  const Link link = it->second->link;
  if (link == located || link.none()) return;
  const llvm::DebugLoc& old = instruction.getDebugLoc();
  instruction.setDebugLoc(LocationOf({link, false}, scope_, old ? old.getInlinedAt() : nullptr));
}

ValueTracker::Handle& ValueTracker::Track(llvm::Instruction& instruction) {
  auto& handle = handles_[&instruction];
  if (handle == nullptr) handle = std::make_unique<Handle>(instruction, *this);
  return *handle;
}

// Instructions that only fed `before` and are not used by what replaces it: they live on inside `after`.
Link ValueTracker::FusedParts(llvm::Instruction& before, const llvm::Instruction& after) const {
  Link parts;
  for (const llvm::Value* operand : before.operands()) {
    const auto* part = llvm::dyn_cast<llvm::Instruction>(operand);
    if (part == nullptr || !part->hasOneUse() || llvm::isa<llvm::PHINode>(part)) continue;
    if (ComputedFrom(after, part, 1)) continue;
    auto it = handles_.find(part);
    if (it != handles_.end()) parts = lineage_.sets.Union(parts, it->second->link);
  }
  return parts;
}

void ValueTracker::Replaced(llvm::Instruction& before, llvm::Value* value) {
  auto* after = llvm::dyn_cast<llvm::Instruction>(value);
  if (after == nullptr) return;  // folded into a constant or an argument: eliminated
  const Link link = handles_.find(&before)->second->link;
  auto known = handles_.find(after);
  if (known == handles_.end()) {
    // A new instruction that this pass made in its place.
    Handle& handle = Track(*after);
    const Link parts = FusedParts(before, *after);
    // Where the paths into a block had done the same work, it is now done once behind them. Choosing between
    // their results, which is all that the phi did, is no work.
    const bool merged = llvm::isa<llvm::PHINode>(before) && !llvm::isa<llvm::PHINode>(after) && !parts.none();
    if (merged || handle.link.none()) handle.link = merged ? parts : link;
    handle.link = lineage_.sets.Union(handle.link, parts);
    return;
  }
  if (ComputedFrom(before, after, kSimplifyDepth)) return;
  known->second->link = lineage_.sets.Union(known->second->link, link);
}

}  // namespace tailor::jit
