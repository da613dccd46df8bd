// Filter: passes on the tuples for which all conjuncts are true.
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class FilterTranslator final : public Translator {
 public:
  using Translator::Translator;

  void produce() override {
    task_ = c_.add_task("Filter", "filter");
    c_.produce(input(0));
  }
  void consume(std::uint32_t) override {
    emit_conjuncts(c_, as<Filter>(op()).conjuncts, [&] { c_.consume(*this); });
  }
  ComponentId task_of(std::uint32_t) const override { return task_; }

 private:
  ComponentId task_ = 0;
};

}  // namespace

std::unique_ptr<Translator> make_filter(Compilation& c, const Operator& op, Translator* parent,
                                        std::uint32_t input) {
  return std::make_unique<FilterTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
