// Groupjoin: join and aggregation in one hash table. Its tasks keep the two origins apart, by their attribute
// `part`: "join" builds and probes, "group" aggregates.
#include "compiler/weft/codegen/aggregate_code.h"
#include "compiler/weft/codegen/compilation.h"
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
        build_(c, operation, join_.keys, layout_, true),
        lock_(layout_.add_bytes(1, 1)),
        aggregates_begin_(layout_.add_bytes(0, 8)),
        state_(join_.aggregates, true, layout_),
        aggregates_end_(layout_.add_bytes(0, 8)) {
    build_.add_fields(operation.inputs[0]->outputs);
  }

  void produce() override {
    scan_task_ = c_.add_task("Scan groups (group part)", "group_scan", {{"part", "group"}});
    group_task_ = c_.add_task("Aggregate (group part)", "group_aggregate", {{"part", "group"}});
    probe_task_ = c_.add_task("Probe (join part)", "hash_probe", {{"part", "join"}});
    build_task_ = c_.add_task("Build (join part)", "hash_build", {{"part", "join"}});
    build_.generate_build("groupjoin build", input(0), build_task_);
    c_.begin_pipeline("groupjoin aggregate");
    c_.produce(input(1));
    c_.end_pipeline({});
    build_.generate_scan(scan_task_, !join_.outer, [&](llvm::Value* row) { emit_group(row); });
  }

  void consume(std::uint32_t input) override {
    if (input == 0) return build_.emit_insert(join_.outer, [&](llvm::Value* row) { emit_initialise(row); });
    JoinBuild::Probe probe = build_.emit_probe_hash();
    llvm::Value* chain = build_.emit_chain(probe);
    // Nobody counts matches.
    build_.tell_probe(probe_task_, {}, true);
    llvm::Value* row =
        build_.emit_search(chain, [&](llvm::Value* r) { return build_.emit_matches(r, probe.hash); });
    emit_if(c_, c_.ir().CreateIsNotNull(row),
            [&] { c_.run_task(group_task_, [&] { emit_aggregate(row); }); });
  }

  ComponentId task_of(std::uint32_t input) const override { return input == 0 ? build_task_ : probe_task_; }

 private:
  void emit_initialise(llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    ir.CreateStore(ir.getInt8(0), field_pointer(c_, row, lock_));
    for (std::uint32_t offset = aggregates_begin_; offset < aggregates_end_; offset += 8) {
      ir.CreateStore(ir.getInt64(0), field_pointer(c_, row, offset));
    }
  }

  // Workers may reach one group at the same time: its byte is a lock held for a few instructions.
  void emit_aggregate(llvm::Value* row) {
    jit::TrackedBuilder& ir = c_.ir();
    // Values are computed before the lock is taken.
    for (const Aggregate& aggregate : join_.aggregates) {
      if (aggregate.argument != nullptr) (void)c_.values().get(aggregate.argument);
    }
    llvm::Value* lock = field_pointer(c_, row, lock_);
    emit_while(
        c_,
        [&] {
          llvm::Value* before = ir.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, lock, ir.getInt8(1),
                                                   llvm::MaybeAlign(1), llvm::AtomicOrdering::Acquire);
          return ir.CreateICmpNE(before, ir.getInt8(0));
        },
        [] {});
    state_.emit_update(c_, row);
    build_.emit_hit(row);
    llvm::StoreInst* unlock = ir.CreateStore(ir.getInt8(0), lock);
    unlock->setAtomic(llvm::AtomicOrdering::Release);
  }

  void emit_group(llvm::Value* row) {
    auto pass = [&] {
      bind_row(c_, scan_task_, layout_, row);
      state_.bind_results(c_, scan_task_, row);
      // Keys are also known by the names they have on the probe side.
      for (const HashJoin::Key& key : join_.keys) {
        if (key.probe != key.build)
          c_.values().bind_lazy(key.probe, [this, &key] { return c_.values().get(key.build); });
      }
      c_.consume(*this);
    };
    if (join_.outer) return pass();
    emit_if(c_, build_.emit_was_hit(row), pass);
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

std::unique_ptr<Translator> make_group_join(Compilation& c, const Operator& op, Translator* parent,
                                            std::uint32_t input) {
  return std::make_unique<GroupJoinTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
