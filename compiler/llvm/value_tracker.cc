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

  void follow(llvm::Instruction& instruction) {
    setValPtr(&instruction);
    located_ = instruction.getDebugLoc().get();
    link_ = lineage_of(instruction.getDebugLoc()).link;
  }
  void release() { setValPtr(nullptr); }
  bool follows(const llvm::Instruction& instruction) const { return getValPtr() == &instruction; }
  const llvm::Instruction* instruction() const { return static_cast<const llvm::Instruction*>(getValPtr()); }

  Link link() const { return link_; }
  void set_link(Link link) {
    if (link != link_) located_ = nullptr;
    link_ = link;
  }
  // A location that says what link() says, if one is known.
  const llvm::DILocation* located() const { return located_; }
  void set_located(const llvm::DILocation* location) { located_ = location; }

  void deleted() override { tracker_.deleted(*this); }
  void allUsesReplacedWith(llvm::Value* after) override {
    tracker_.replaced(*llvm::cast<llvm::Instruction>(getValPtr()), after);
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
bool computed_from(const llvm::Instruction& instruction, const llvm::Value* value, int depth) {
  for (const llvm::Value* operand : instruction.operands()) {
    if (operand == value) return true;
    const auto* next = llvm::dyn_cast<llvm::Instruction>(operand);
    if (next != nullptr && depth > 1 && computed_from(*next, value, depth - 1)) return true;
  }
  return false;
}

}  // namespace

ValueTracker::ValueTracker(llvm::Module& module, ModuleLineage& lineage)
    : module_(module), lineage_(lineage), scope_(scope_of(module)) {
  TickAdd time(lineage_.ticks);
  for (llvm::Function& function : module_) sync(function);
}

ValueTracker::~ValueTracker() = default;

void ValueTracker::attach(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerAfterPassCallback(
      [this, alive = std::weak_ptr<char>(alive_)](llvm::StringRef, const llvm::Any& unit,
                                                  const llvm::PreservedAnalyses& preserved) {
        if (preserved.areAllPreserved() || alive.expired()) return;
        TickAdd time(lineage_.ticks);
        sync_unit(unit);
      });
}

void ValueTracker::sync_unit(const llvm::Any& unit) {
  if (const auto* function = llvm::any_cast<const llvm::Function*>(&unit)) {
    if ((*function)->getParent() == &module_) sync(const_cast<llvm::Function&>(**function));
  } else if (const auto* loop = llvm::any_cast<const llvm::Loop*>(&unit)) {
    if ((*loop)->getHeader()->getModule() == &module_) sync_loop(**loop);
  } else if (const auto* component = llvm::any_cast<const llvm::LazyCallGraph::SCC*>(&unit)) {
    for (llvm::LazyCallGraph::Node& node : **component) {
      if (node.getFunction().getParent() == &module_) sync(node.getFunction());
    }
  } else {
    for (llvm::Function& each : module_) sync(each);
  }
}

void ValueTracker::finish() {
  TickAdd time(lineage_.ticks);
  for (llvm::Function& function : module_) sync(function);
  seen_.clear();
  handles_.clear();
  free_.clear();
  storage_.DestroyAll();
  for (llvm::Function& function : module_) infer_locations(function, scope_);
}

void ValueTracker::deleted(Handle& handle) {
  handles_.erase(handle.instruction());
  handle.release();
  free_.push_back(&handle);
}

void ValueTracker::sync(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) sync_block(block);
}

// Loops are many and small, and a function pass follows that sees the whole.
void ValueTracker::sync_loop(const llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks()) sync_block(*block);
  if (llvm::BasicBlock* before = loop.getLoopPredecessor()) sync_block(*before);
  if (llvm::BasicBlock* after = loop.getExitBlock()) sync_block(*after);
}

void ValueTracker::sync_block(llvm::BasicBlock& block) {
  std::vector<Handle*>& seen = seen_[&block];
  standing_.clear();
  std::size_t next = 0;
  for (llvm::Instruction& instruction : block) {
    Handle* handle = nullptr;
    for (std::size_t i = next; i < seen.size() && i < next + kAhead; ++i) {
      if (!seen[i]->follows(instruction)) continue;
      handle = seen[i];
      next = i + 1;
      break;
    }
    if (handle == nullptr) handle = handle_of(instruction);
    if (handle == nullptr) continue;
    sync_location(instruction, *handle);
    standing_.push_back(handle);
  }
  seen.swap(standing_);
}

// Null if nothing is known of the instruction.
ValueTracker::Handle* ValueTracker::handle_of(llvm::Instruction& instruction) {
  auto it = handles_.find(&instruction);
  if (it != handles_.end()) return it->second;
  return lineage_of(instruction.getDebugLoc()).link.none() ? nullptr : &track(instruction);
}

// LLVM drops or blurs the location of what it moves between blocks; the owner has not changed by that.
void ValueTracker::sync_location(llvm::Instruction& instruction, Handle& handle) {
  const llvm::DebugLoc& old = instruction.getDebugLoc();
  if (handle.link().none() || (old && old.get() == handle.located())) return;
  if (lineage_of(old).link != handle.link()) {
    instruction.setDebugLoc(location_of({handle.link(), false}, scope_, old ? old.getInlinedAt() : nullptr));
  }
  handle.set_located(instruction.getDebugLoc().get());
}

ValueTracker::Handle& ValueTracker::track(llvm::Instruction& instruction) {
  Handle*& handle = handles_[&instruction];
  if (handle != nullptr) return *handle;
  if (free_.empty()) {
    handle = new (storage_.Allocate()) Handle(*this);
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  handle->follow(instruction);
  return *handle;
}

// Instructions that only fed `before` and are not used by what replaces it: they live on inside `after`.
Link ValueTracker::fused_parts(llvm::Instruction& before, const llvm::Instruction& after) const {
  Link parts;
  for (const llvm::Value* operand : before.operands()) {
    const auto* part = llvm::dyn_cast<llvm::Instruction>(operand);
    if (part == nullptr || !part->hasOneUse() || llvm::isa<llvm::PHINode>(part)) continue;
    if (computed_from(after, part, 1)) continue;
    auto it = handles_.find(part);
    if (it != handles_.end()) parts = lineage_.sets.united(parts, it->second->link());
  }
  return parts;
}

void ValueTracker::replaced(llvm::Instruction& before, llvm::Value* value) {
  auto* after = llvm::dyn_cast<llvm::Instruction>(value);
  if (after == nullptr) return;  // folded into a constant or an argument: eliminated
  const Link link = handles_.find(&before)->second->link();
  auto known = handles_.find(after);
  if (known == handles_.end()) {
    // A new instruction that this pass made in its place.
    Handle& handle = track(*after);
    const Link parts = fused_parts(before, *after);
    // Where the paths into a block had done the same work, it is now done once behind them. Choosing between
    // their results, which is all that the phi did, is no work.
    const bool merged = llvm::isa<llvm::PHINode>(before) && !llvm::isa<llvm::PHINode>(after) && !parts.none();
    if (merged || handle.link().none()) handle.set_link(merged ? parts : link);
    handle.set_link(lineage_.sets.united(handle.link(), parts));
    return;
  }
  if (computed_from(before, after, kSimplifyDepth)) return;
  known->second->set_link(lineage_.sets.united(known->second->link(), link));
}

}  // namespace tailor::jit
