// Map: computes units from units.
#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class MapTranslator final : public Translator {
 public:
  using Translator::Translator;

  void Produce() override {
    task_ = c_.AddTask("Map", "map");
    c_.Produce(input(0));
  }
  // Computed where first needed: a join above may drop the tuple before.
  void Consume(std::uint32_t) override {
    for (const Map::Computation& computation : as<Map>(op()).computations) {
      c_.values().BindLazy(computation.iu, [this, &computation] {
        SqlValue value;
        c_.RunTask(task_, [&] { value = EmitExpression(c_, *computation.expr); });
        return value;
      });
    }
    c_.Consume(*this);
  }
  ComponentId TaskOf(std::uint32_t) const override { return task_; }

 private:
  ComponentId task_ = 0;
};

}  // namespace

std::unique_ptr<Translator> MakeMap(Compilation& c, const Operator& op, Translator* parent,
                                    std::uint32_t input) {
  return std::make_unique<MapTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
