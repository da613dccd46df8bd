// Limit: a counter that all workers share.
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class LimitTranslator final : public Translator {
 public:
  using Translator::Translator;

  void produce() override {
    task_ = c_.add_task("Limit", "limit");
    counter_ = c_.shared().add_bytes(8);
    c_.produce(input(0));
  }
  void consume(std::uint32_t) override {
    llvm::Value* before =
        c_.ir().CreateAtomicRMW(llvm::AtomicRMWInst::Add, c_.shared_pointer(counter_), c_.ir().getInt64(1),
                                llvm::MaybeAlign(8), llvm::AtomicOrdering::Monotonic);
    llvm::Value* passes = c_.ir().CreateICmpULT(before, c_.ir().getInt64(as<Limit>(op()).limit));
    emit_if(c_, passes, [&] { c_.consume(*this); });
  }
  ComponentId task_of(std::uint32_t) const override { return task_; }

 private:
  ComponentId task_ = 0;
  std::size_t counter_ = 0;
};

}  // namespace

std::unique_ptr<Translator> make_limit(Compilation& c, const Operator& op, Translator* parent,
                                       std::uint32_t input) {
  return std::make_unique<LimitTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
