#include "compiler/weft/codegen/aggregate_code.h"

#include "compiler/weft/codegen/flow.h"

namespace tailor::weft {
namespace {

bool is_count(AggregateFunction function) {
  return function == AggregateFunction::kCount || function == AggregateFunction::kCountRows;
}

}  // namespace

AggregateState::AggregateState(const std::vector<Aggregate>& aggregates, bool groups_may_be_empty,
                               RowLayout& layout) {
  for (const Aggregate& aggregate : aggregates) {
    Slot slot{&aggregate, 0, 0};
    std::uint32_t bytes = width_bytes(aggregate.result->width());
    slot.offset = layout.add_bytes(bytes, std::min(bytes, 8u));
    // A sum of values that are never null starts at zero; a minimum needs to know whether it has begun.
    bool needs_seen = !is_count(aggregate.function) &&
                      (aggregate.function != AggregateFunction::kSum || groups_may_be_empty ||
                       aggregate.result->type.nullable || aggregate.argument->type.nullable);
    if (needs_seen) slot.seen = layout.add_bytes(1, 1);
    slots_.push_back(slot);
  }
}

void AggregateState::emit_update(Compilation& c, llvm::Value* row) const {
  jit::TrackedBuilder& ir = c.ir();
  for (const Slot& slot : slots_) {
    const Aggregate& aggregate = *slot.aggregate;
    Width width = aggregate.result->width();
    if (!is_count(aggregate.function)) {
      add(c, slot, row, c.values().get(aggregate.argument), aggregate.argument->width());
      continue;
    }
    llvm::Value* one = llvm::ConstantInt::get(data_type(c, width), 1);
    if (aggregate.function == AggregateFunction::kCount) {
      SqlValue argument = c.values().get(aggregate.argument);
      if (argument.null != nullptr) one = ir.CreateZExt(ir.CreateNot(argument.null), data_type(c, width));
    }
    SqlValue count = load_field(c, row, slot.field());
    store_field(c, row, slot.field(), {ir.CreateAdd(count.data, one), nullptr, nullptr});
  }
}

void AggregateState::add(Compilation& c, const Slot& slot, llvm::Value* row, const SqlValue& value,
                         Width width) const {
  jit::TrackedBuilder& ir = c.ir();
  RowField field = slot.field();
  Width result_width = slot.aggregate->result->width();
  llvm::Value* seen_place = slot.seen != 0 ? field_pointer(c, row, slot.seen) : nullptr;
  if (slot.aggregate->function == AggregateFunction::kSum) {
    llvm::Value* addend = to_width(c, value.data, result_width);
    if (value.null != nullptr) {
      addend = ir.CreateSelect(value.null, llvm::Constant::getNullValue(addend->getType()), addend);
    }
    SqlValue sum = load_field(c, row, field);
    store_field(c, row, field, {ir.CreateAdd(sum.data, addend), nullptr, nullptr});
    if (seen_place == nullptr) return;
    llvm::Value* seen = ir.getInt8(1);
    if (value.null != nullptr) {
      seen = ir.CreateOr(ir.CreateLoad(ir.getInt8Ty(), seen_place),
                         ir.CreateZExt(ir.CreateNot(value.null), ir.getInt8Ty()));
    }
    ir.CreateStore(seen, seen_place);
    return;
  }
  // Minimum, maximum, any: the value replaces what is there if that is nothing, or worse.
  llvm::Value* empty = ir.CreateICmpEQ(ir.CreateLoad(ir.getInt8Ty(), seen_place), ir.getInt8(0));
  llvm::Value* replaces = empty;
  if (slot.aggregate->function != AggregateFunction::kAny) {
    bool minimum = slot.aggregate->function == AggregateFunction::kMin;
    auto better = [&] {
      SqlValue old = load_field(c, row, field);
      return SqlValue{minimum ? emit_less(c, value, width, old, result_width)
                              : emit_less(c, old, result_width, value, width)};
    };
    replaces = emit_choice(c, empty, [&] { return SqlValue{ir.getTrue()}; }, better).data;
  }
  if (value.null != nullptr) replaces = ir.CreateAnd(replaces, ir.CreateNot(value.null));
  emit_if(c, replaces, [&] {
    store_field(c, row, field, value);
    ir.CreateStore(ir.getInt8(1), seen_place);
  });
}

void AggregateState::emit_merge(Compilation& c, llvm::Value* row, llvm::Value* from) const {
  jit::TrackedBuilder& ir = c.ir();
  for (const Slot& slot : slots_) {
    if (is_count(slot.aggregate->function)) {
      SqlValue a = load_field(c, row, slot.field());
      SqlValue b = load_field(c, from, slot.field());
      store_field(c, row, slot.field(), {ir.CreateAdd(a.data, b.data), nullptr, nullptr});
    } else {
      add(c, slot, row, result(c, slot, from), slot.aggregate->result->width());
    }
  }
}

SqlValue AggregateState::result(Compilation& c, const Slot& slot, llvm::Value* row) const {
  jit::TrackedBuilder& ir = c.ir();
  SqlValue value = load_field(c, row, slot.field());
  if (slot.seen != 0) {
    value.null =
        ir.CreateICmpEQ(ir.CreateLoad(ir.getInt8Ty(), field_pointer(c, row, slot.seen)), ir.getInt8(0));
  }
  return value;
}

void AggregateState::bind_results(Compilation& c, ComponentId task, llvm::Value* row) const {
  for (const Slot& slot : slots_) {
    c.values().bind_lazy(slot.aggregate->result, [this, &c, &slot, task, row] {
      SqlValue value;
      c.run_task(task, [&] { value = result(c, slot, row); });
      return value;
    });
  }
}

}  // namespace tailor::weft
