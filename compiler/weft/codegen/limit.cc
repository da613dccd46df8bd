// Limit: a counter that all workers share.
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class LimitTranslator final : public Translator {
 public:
  using Translator::Translator;

  void Produce() override {
    task_ = c_.AddTask("Limit", "limit");
    counter_ = c_.shared().AddBytes(8);
    c_.Produce(input(0));
  }
  void Consume(std::uint32_t) override {
    llvm::Value* before =
        c_.ir().CreateAtomicRMW(llvm::AtomicRMWInst::Add, c_.SharedPointer(counter_), c_.ir().getInt64(1),
                                llvm::MaybeAlign(8), llvm::AtomicOrdering::Monotonic);
    llvm::Value* passes = c_.ir().CreateICmpULT(before, c_.ir().getInt64(as<Limit>(op()).limit));
    EmitIf(c_, passes, [&] { c_.Consume(*this); });
  }
  ComponentId TaskOf(std::uint32_t) const override { return task_; }

 private:
  ComponentId task_ = 0;
  std::size_t counter_ = 0;
};

}  // namespace

std::unique_ptr<Translator> MakeLimit(Compilation& c, const Operator& op, Translator* parent,
                                      std::uint32_t input) {
  return std::make_unique<LimitTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
