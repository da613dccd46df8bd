// Filter: passes on the tuples for which all conjuncts are true.
#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class FilterTranslator final : public Translator {
 public:
  using Translator::Translator;

  void Produce() override {
    task_ = c_.AddTask("Filter", "filter");
    c_.Produce(input(0));
  }
  void Consume(std::uint32_t) override {
    EmitConjuncts(c_, as<Filter>(op()).conjuncts, [&] { c_.Consume(*this); });
  }
  ComponentId TaskOf(std::uint32_t) const override { return task_; }

 private:
  ComponentId task_ = 0;
};

}  // namespace

std::unique_ptr<Translator> MakeFilter(Compilation& c, const Operator& op, Translator* parent,
                                       std::uint32_t input) {
  return std::make_unique<FilterTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
