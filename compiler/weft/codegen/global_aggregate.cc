// Aggregation without keys: every morsel adds up in registers, every worker in its memory, the end in one
// row.
#include <llvm/IR/Instructions.h>

#include "compiler/weft/codegen/aggregate_code.h"
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

  void Produce() override {
    merge_ = c_.AddTask("Merge aggregates", "aggregate_merge");
    aggregate_ = c_.AddTask("Aggregate", "aggregate");
    offset_ = c_.local().AddBytes(layout_.size());
    c_.BeginPipeline("aggregate");
    c_.AtFunctionBegin(aggregate_, [this] { row_ = ZeroedRow(); });
    c_.AtFunctionEnd(aggregate_, [this] { state_.EmitMerge(c_, c_.LocalPointer(offset_), row_); });
    c_.Produce(input(0));
    c_.EndPipeline({});

    auto once = [](const Frame&) { return std::uint64_t{1}; };
    c_.GenerateSource(merge_, once, 1, false, [&](llvm::Value*, llvm::Value*) { EmitResult(); });
  }

  void Consume(std::uint32_t) override { state_.EmitUpdate(c_, row_); }
  ComponentId TaskOf(std::uint32_t) const override { return aggregate_; }

 private:
  llvm::Value* ZeroedRow() {
    llvm::Type* type = llvm::ArrayType::get(c_.ir().getInt64Ty(), layout_.size() / 8);
    llvm::AllocaInst* row = c_.module().CreateEntryAlloca(type, "aggregates");
    c_.ir().CreateStore(llvm::Constant::getNullValue(type), row);
    return row;
  }

  void EmitResult() {
    jit::TrackedBuilder& ir = c_.ir();
    llvm::Value* total = ZeroedRow();
    llvm::Value* locals = ir.CreateLoad(ir.getPtrTy(), c_.SharedPointer(kSharedLocalsOffset));
    llvm::Value* workers = ir.CreateLoad(ir.getInt64Ty(), c_.SharedPointer(kSharedWorkersOffset));
    EmitFor(c_, ir.getInt64(0), workers, [&](llvm::Value* worker) {
      llvm::Value* local = ir.CreateLoad(ir.getPtrTy(), ir.CreateInBoundsGEP(ir.getPtrTy(), locals, worker));
      state_.EmitMerge(c_, total, FieldPointer(c_, local, static_cast<std::uint32_t>(offset_)));
    });
    state_.BindResults(c_, merge_, total);
    c_.Consume(*this);
  }

  RowLayout layout_;
  AggregateState state_;
  ComponentId merge_ = 0;
  ComponentId aggregate_ = 0;
  std::size_t offset_ = 0;
  llvm::Value* row_ = nullptr;
};

}  // namespace

std::unique_ptr<Translator> MakeGlobalAggregate(Compilation& c, const Operator& op, Translator* parent,
                                                std::uint32_t input) {
  return std::make_unique<GlobalAggregateTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
