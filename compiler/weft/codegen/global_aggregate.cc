// Aggregation without keys: every morsel adds up in registers, every worker in its memory, the end in one
// row.
#include <llvm/IR/Instructions.h>

#include "compiler/weft/codegen/aggregate_code.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class GlobalAggregateTranslator final : public Translator {
 public:
  GlobalAggregateTranslator(Compilation& c, const Operator& grouping, Translator* consumer,
                            std::uint32_t place)
      : Translator(c, grouping, consumer, place),
        layout_(8),
        state_(as<GroupBy>(grouping).aggregates, true, layout_) {}

  void produce() override {
    merge_ = c_.add_task("Merge aggregates", "aggregate_merge");
    aggregate_ = c_.add_task("Aggregate", "aggregate");
    offset_ = c_.local().add_bytes(layout_.size());
    c_.begin_pipeline("aggregate");
    c_.at_function_begin(aggregate_, [this] { row_ = zeroed_row(); });
    c_.at_function_end(aggregate_, [this] { state_.emit_merge(c_, c_.local_pointer(offset_), row_); });
    c_.produce(input(0));
    c_.end_pipeline({});

    auto once = [](const Frame&) { return std::uint64_t{1}; };
    c_.generate_source(merge_, once, 1, false, [&](llvm::Value*, llvm::Value*) { emit_result(); });
  }

  void consume(std::uint32_t) override { state_.emit_update(c_, row_); }
  ComponentId task_of(std::uint32_t) const override { return aggregate_; }

 private:
  llvm::Value* zeroed_row() {
    llvm::Type* type = llvm::ArrayType::get(c_.ir().getInt64Ty(), layout_.size() / 8);
    llvm::AllocaInst* row = c_.module().create_entry_alloca(type, "aggregates");
    c_.ir().CreateStore(llvm::Constant::getNullValue(type), row);
    return row;
  }

  void emit_result() {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* total = zeroed_row();
    llvm::Value* locals = ir.CreateLoad(ir.getPtrTy(), c_.shared_pointer(kSharedLocalsOffset));
    llvm::Value* workers = ir.CreateLoad(ir.getInt64Ty(), c_.shared_pointer(kSharedWorkersOffset));
    emit_for(c_, ir.getInt64(0), workers, [&](llvm::Value* worker) {
      llvm::Value* local = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), locals, worker));
      state_.emit_merge(c_, total, field_pointer(c_, local, static_cast<std::uint32_t>(offset_)));
    });
    state_.bind_results(c_, merge_, total);
    c_.consume(*this);
  }

  RowLayout layout_;
  AggregateState state_;
  ComponentId merge_ = 0;
  ComponentId aggregate_ = 0;
  std::size_t offset_ = 0;
  llvm::Value* row_ = nullptr;
};

}  // namespace

std::unique_ptr<Translator> make_global_aggregate(Compilation& c, const Operator& op, Translator* parent,
                                                  std::uint32_t input) {
  return std::make_unique<GlobalAggregateTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
