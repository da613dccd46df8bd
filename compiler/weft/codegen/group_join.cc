// Groupjoin: join and aggregation in one hash table. Its tasks keep the two origins apart, by their attribute
// `part`: "join" builds and probes, "group" aggregates.
#include "compiler/weft/codegen/aggregate_code.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/join_code.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/hash_row.h"

namespace tailor::weft {
namespace {

class GroupJoinTranslator final : public Translator {
 public:
  GroupJoinTranslator(Compilation& c, const Operator& operation, Translator* consumer, std::uint32_t place)
      : Translator(c, operation, consumer, place),
        join_(as<GroupJoin>(operation)),
        layout_(kHashRowBytes),
        build_(c, operation.id, join_.keys, layout_, true),
        lock_(layout_.AddBytes(1, 1)),
        aggregates_begin_(layout_.AddBytes(0, 8)),
        state_(join_.aggregates, true, layout_),
        aggregates_end_(layout_.AddBytes(0, 8)) {
    build_.AddFields(operation.inputs[0]->outputs);
  }

  void Produce() override {
    scan_task_ = c_.AddTask("Scan groups (group part)", "group_scan", {{"part", "group"}});
    group_task_ = c_.AddTask("Aggregate (group part)", "group_aggregate", {{"part", "group"}});
    probe_task_ = c_.AddTask("Probe (join part)", "hash_probe", {{"part", "join"}});
    build_task_ = c_.AddTask("Build (join part)", "hash_build", {{"part", "join"}});
    build_.GenerateBuild("groupjoin build", input(0), build_task_);
    c_.BeginPipeline("groupjoin aggregate");
    c_.Produce(input(1));
    c_.EndPipeline({});
    build_.GenerateScan(scan_task_, [&](llvm::Value* row) { EmitGroup(row); });
  }

  void Consume(std::uint32_t input) override {
    if (input == 0) return build_.EmitInsert(join_.outer, [&](llvm::Value* row) { EmitInitialise(row); });
    JoinBuild::Probe probe = build_.EmitProbeHash();
    llvm::Value* chain = build_.EmitChain(probe);
    llvm::Value* row =
        build_.EmitSearch(chain, [&](llvm::Value* r) { return build_.EmitMatches(r, probe.hash); });
    EmitIf(c_, c_.ir().CreateIsNotNull(row), [&] { c_.RunTask(group_task_, [&] { EmitAggregate(row); }); });
  }

  ComponentId TaskOf(std::uint32_t input) const override { return input == 0 ? build_task_ : probe_task_; }

 private:
  void EmitInitialise(llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    ir.CreateStore(ir.getInt8(0), FieldPointer(c_, row, lock_));
    for (std::uint32_t offset = aggregates_begin_; offset < aggregates_end_; offset += 8) {
      ir.CreateStore(ir.getInt64(0), FieldPointer(c_, row, offset));
    }
  }

  // Workers may reach one group at the same time: its byte is a lock held for a few instructions.
  void EmitAggregate(llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    // Values are computed before the lock is taken.
    for (const Aggregate& aggregate : join_.aggregates) {
      if (aggregate.argument != nullptr) (void)c_.values().Get(aggregate.argument);
    }
    llvm::Value* lock = FieldPointer(c_, row, lock_);
    EmitWhile(
        c_,
        [&] {
          llvm::Value* before = ir.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, ir.getInt8(1),
                                                   llvm::MaybeAlign(1), llvm::AtomicOrdering::Acquire);
          return ir.CreateICmpNE(before, ir.getInt8(0));
        },
        [] {});
    state_.EmitUpdate(c_, row);
    build_.EmitHit(row);
    llvm::StoreInst* unlock = ir.CreateStore(ir.getInt8(0), lock);
    unlock->setAtomic(llvm::AtomicOrdering::Release);
  }

  void EmitGroup(llvm::Value* row) {
    auto pass = [&] {
      BindRow(c_, scan_task_, layout_, row);
      state_.BindResults(c_, scan_task_, row);
      // Keys are also known by the names they have on the probe side.
      for (const HashJoin::Key& key : join_.keys) {
        if (key.probe != key.build)
          c_.values().BindLazy(key.probe, [this, &key] { return c_.values().Get(key.build); });
      }
      c_.Consume(*this);
    };
    if (join_.outer) return pass();
    EmitIf(c_, build_.EmitWasHit(row), pass);
  }

  const GroupJoin& join_;
  RowLayout layout_;
  JoinBuild build_;
  std::uint32_t lock_;
  std::uint32_t aggregates_begin_;
  AggregateState state_;
  std::uint32_t aggregates_end_;
  ComponentId scan_task_ = 0;
  ComponentId group_task_ = 0;
  ComponentId probe_task_ = 0;
  ComponentId build_task_ = 0;
};

}  // namespace

std::unique_ptr<Translator> MakeGroupJoin(Compilation& c, const Operator& op, Translator* parent,
                                          std::uint32_t input) {
  return std::make_unique<GroupJoinTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
