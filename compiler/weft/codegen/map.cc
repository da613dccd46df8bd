// Map: computes units from units.
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/translator.h"

namespace tailor::weft {
namespace {

class MapTranslator final : public Translator {
 public:
  using Translator::Translator;

  void produce() override {
    task_ = c_.add_task("Map", "map");
    c_.produce(input(0));
  }
  // Computed where first needed: a join above may drop the tuple before.
  void consume(std::uint32_t) override {
    for (const Map::Computation& computation : as<Map>(op()).computations) {
      c_.values().bind_lazy(computation.iu, [this, &computation] {
        SqlValue value;
        c_.run_task(task_, [&] { value = emit_expression(c_, *computation.expr); });
        return value;
      });
    }
    c_.consume(*this);
  }
  ComponentId task_of(std::uint32_t) const override { return task_; }

 private:
  ComponentId task_ = 0;
};

}  // namespace

std::unique_ptr<Translator> make_map(Compilation& c, const Operator& op, Translator* parent,
                                     std::uint32_t input) {
  return std::make_unique<MapTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
