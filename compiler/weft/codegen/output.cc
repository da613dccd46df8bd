// Output: rows for the client, materialised by every worker for itself.
#include <tailor/agent.h>

#include "compiler/weft/codegen/access_code.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {
namespace {

class OutputTranslator final : public Translator {
 public:
  using Translator::Translator;

  void produce() override {
    task_ = c_.add_task("Output", "output");
    RowLayout layout(0);
    for (const Iu* iu : op().outputs) layout.add(iu);
    // A result without columns would have rows of no size.
    row_bytes_ = std::max(layout.size(), 8u);
    for (const Iu* iu : op().outputs) c_.program().result_fields.push_back(*layout.find(iu));
    layout_ = std::make_unique<RowLayout>(std::move(layout));
    RegionKind kind = c_.region(kRegion, TAILOR_REGION_OUTPUT, op().id, row_bytes_);
    buffer_ = c_.local().add_object<TupleBuffer>([kind, bytes = row_bytes_](std::byte* place, Frame& frame) {
      new (place) TupleBuffer(*frame.account, kind, bytes);
    });
    c_.program().result_offset = buffer_;
    c_.program().result_operator = op().id;
    c_.program().result_task = task_;
    c_.begin_pipeline("output");
    c_.produce(input(0));
    c_.end_pipeline({});
  }
  void consume(std::uint32_t) override {
    llvm::Value* row = emit_append(c_, c_.local_pointer(buffer_), row_bytes_);
    for (const RowField& field : layout_->fields()) store_field(c_, row, field, c_.values().get(field.iu));
    v1::Access rows = sequential_access(kRegion, op().id, row_bytes_, rows_at_a_place(*op().inputs[0]));
    rows.set_writes(true);
    c_.add_access(task_, std::move(rows));
  }
  ComponentId task_of(std::uint32_t) const override { return task_; }

 private:
  static constexpr const char* kRegion = "result";

  ComponentId task_ = 0;
  std::uint32_t row_bytes_ = 0;
  std::unique_ptr<RowLayout> layout_;
  std::size_t buffer_ = 0;
};

}  // namespace

std::unique_ptr<Translator> make_output(Compilation& c, const Operator& op, Translator* parent,
                                        std::uint32_t input) {
  return std::make_unique<OutputTranslator>(c, op, parent, input);
}

}  // namespace tailor::weft
