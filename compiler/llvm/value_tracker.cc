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
  explicit Handle(ValueTracker& tracker) : tracker_(tracker) {}

  void Follow(llvm::Instruction& instruction) {
    setValPtr(&instruction);
    located_ = instruction.getDebugLoc().get();
    link_ = LineageOf(instruction.getDebugLoc()).link;
  }
  void Release() { setValPtr(nullptr); }
  bool Follows(const llvm::Instruction& instruction) const { return getValPtr() == &instruction; }
  const llvm::Instruction* instruction() const { return static_cast<const llvm::Instruction*>(getValPtr()); }

  Link link() const { return link_; }
  void set_link(Link link) {
    if (link != link_) located_ = nullptr;
    link_ = link;
  }
  // A location that says what link() says, if one is known.
  const llvm::DILocation* located() const { return located_; }
  void set_located(const llvm::DILocation* location) { located_ = location; }

  void deleted() override { tracker_.Deleted(*this); }
  void allUsesReplacedWith(llvm::Value* after) override {
    tracker_.Replaced(*llvm::cast<llvm::Instruction>(getValPtr()), after);
  }

 private:
  Link link_;
  const llvm::DILocation* located_ = nullptr;
  ValueTracker& tracker_;
};

namespace {

constexpr int kSimplifyDepth = 4;
// How many instructions in a row may have left a block before those behind are looked up.
constexpr std::size_t kAhead = 4;

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
  TickAdd time(lineage_.ticks);
  for (llvm::Function& function : module_) Sync(function);
}

ValueTracker::~ValueTracker() = default;

void ValueTracker::Attach(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerAfterPassCallback(
      [this](llvm::StringRef, llvm::Any unit, const llvm::PreservedAnalyses& preserved) {
        if (preserved.areAllPreserved()) return;
        TickAdd time(lineage_.ticks);
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
  TickAdd time(lineage_.ticks);
  for (llvm::Function& function : module_) Sync(function);
  seen_.clear();
  handles_.clear();
  free_.clear();
  storage_.DestroyAll();
  for (llvm::Function& function : module_) InferLocations(function, scope_);
}

void ValueTracker::Deleted(Handle& handle) {
  handles_.erase(handle.instruction());
  handle.Release();
  free_.push_back(&handle);
}

void ValueTracker::Sync(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) SyncBlock(block);
}

// Loops are many and small, and a function pass follows that sees the whole.
void ValueTracker::SyncLoop(const llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks()) SyncBlock(*block);
  if (llvm::BasicBlock* before = loop.getLoopPredecessor()) SyncBlock(*before);
  if (llvm::BasicBlock* after = loop.getExitBlock()) SyncBlock(*after);
}

void ValueTracker::SyncBlock(llvm::BasicBlock& block) {
  std::vector<Handle*>& seen = seen_[&block];
  standing_.clear();
  std::size_t next = 0;
  for (llvm::Instruction& instruction : block) {
    Handle* handle = nullptr;
    for (std::size_t i = next; i < seen.size() && i < next + kAhead; ++i) {
      if (!seen[i]->Follows(instruction)) continue;
      handle = seen[i];
      next = i + 1;
      break;
    }
    if (handle == nullptr) handle = HandleOf(instruction);
    if (handle == nullptr) continue;
    SyncLocation(instruction, *handle);
    standing_.push_back(handle);
  }
  seen.swap(standing_);
}

// Null if nothing is known of the instruction.
ValueTracker::Handle* ValueTracker::HandleOf(llvm::Instruction& instruction) {
  auto it = handles_.find(&instruction);
  if (it != handles_.end()) return it->second;
  return LineageOf(instruction.getDebugLoc()).link.none() ? nullptr : &Track(instruction);
}

// LLVM drops or blurs the location of what it moves between blocks; the owner has not changed by that.
void ValueTracker::SyncLocation(llvm::Instruction& instruction, Handle& handle) {
  const llvm::DebugLoc& old = instruction.getDebugLoc();
  if (handle.link().none() || (old && old.get() == handle.located())) return;
  if (LineageOf(old).link != handle.link()) {
    instruction.setDebugLoc(LocationOf({handle.link(), false}, scope_, old ? old.getInlinedAt() : nullptr));
  }
  handle.set_located(instruction.getDebugLoc().get());
}

ValueTracker::Handle& ValueTracker::Track(llvm::Instruction& instruction) {
  Handle*& handle = handles_[&instruction];
  if (handle != nullptr) return *handle;
  if (free_.empty()) {
    handle = new (storage_.Allocate()) Handle(*this);
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  handle->Follow(instruction);
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
    if (it != handles_.end()) parts = lineage_.sets.Union(parts, it->second->link());
  }
  return parts;
}

void ValueTracker::Replaced(llvm::Instruction& before, llvm::Value* value) {
  auto* after = llvm::dyn_cast<llvm::Instruction>(value);
  if (after == nullptr) return;  // folded into a constant or an argument: eliminated
  const Link link = handles_.find(&before)->second->link();
  auto known = handles_.find(after);
  if (known == handles_.end()) {
    // A new instruction that this pass made in its place.
    Handle& handle = Track(*after);
    const Link parts = FusedParts(before, *after);
    // Where the paths into a block had done the same work, it is now done once behind them. Choosing between
    // their results, which is all that the phi did, is no work.
    const bool merged = llvm::isa<llvm::PHINode>(before) && !llvm::isa<llvm::PHINode>(after) && !parts.none();
    if (merged || handle.link().none()) handle.set_link(merged ? parts : link);
    handle.set_link(lineage_.sets.Union(handle.link(), parts));
    return;
  }
  if (ComputedFrom(before, after, kSimplifyDepth)) return;
  known->second->set_link(lineage_.sets.Union(known->second->link(), link));
}

}  // namespace tailor::jit
