// Aggregates being computed: fields of a row that starts as zeros.
#pragma once

#include <vector>

#include "compiler/weft/codegen/row_layout.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

class AggregateState {
 public:
  // Reserves the fields in `layout`. `groups_may_be_empty`: a result may be asked for without any row.
  AggregateState(const std::vector<Aggregate>& aggregates, bool groups_may_be_empty, RowLayout& layout);

  // Adds the tuple whose values are bound to the aggregates in `row`.
  void emit_update(Compilation& c, llvm::Value* row) const;
  // Adds what `from` has gathered to `row`.
  void emit_merge(Compilation& c, llvm::Value* row, llvm::Value* from) const;
  // Binds the results, loaded from `row` where first needed.
  void bind_results(Compilation& c, ComponentId task, llvm::Value* row) const;

 private:
  struct Slot {
    const Aggregate* aggregate;
    std::uint32_t offset;
    std::uint32_t seen;  // offset of a byte that is 1 once a value was added; 0: the result is never null
    RowField field() const { return {aggregate->result, offset, 0}; }
  };
  void add(Compilation& c, const Slot& slot, llvm::Value* row, const SqlValue& value, Width width) const;
  SqlValue result(Compilation& c, const Slot& slot, llvm::Value* row) const;

  std::vector<Slot> slots_;
};

}  // namespace tailor::weft
