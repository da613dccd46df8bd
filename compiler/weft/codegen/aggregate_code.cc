#include "compiler/weft/codegen/aggregate_code.h"

#include "compiler/weft/codegen/flow.h"

namespace tailor::weft {
namespace {

bool IsCount(AggregateFunction function) {
  return function == AggregateFunction::kCount || function == AggregateFunction::kCountRows;
}

}  // namespace

AggregateState::AggregateState(const std::vector<Aggregate>& aggregates, bool groups_may_be_empty,
                               RowLayout& layout) {
  for (const Aggregate& aggregate : aggregates) {
    Slot slot{&aggregate, 0, 0};
    std::uint32_t bytes = WidthBytes(aggregate.result->width());
    slot.offset = layout.AddBytes(bytes, std::min(bytes, 8u));
    // A sum of values that are never null starts at zero; a minimum needs to know whether it has begun.
    bool needs_seen = !IsCount(aggregate.function) &&
                      (aggregate.function != AggregateFunction::kSum || groups_may_be_empty ||
                       aggregate.result->type.nullable || aggregate.argument->type.nullable);
    if (needs_seen) slot.seen = layout.AddBytes(1, 1);
    slots_.push_back(slot);
  }
}

void AggregateState::EmitUpdate(Compilation& c, llvm::Value* row) const {
  jit::TrackedBuilder& ir = c.ir();
  for (const Slot& slot : slots_) {
    const Aggregate& aggregate = *slot.aggregate;
    Width width = aggregate.result->width();
    if (!IsCount(aggregate.function)) {
      Add(c, slot, row, c.values().Get(aggregate.argument), aggregate.argument->width());
      continue;
    }
    llvm::Value* one = llvm::ConstantInt::get(DataType(c, width), 1);
    if (aggregate.function == AggregateFunction::kCount) {
      SqlValue argument = c.values().Get(aggregate.argument);
      if (argument.null != nullptr) one = ir.CreateZExt(ir.CreateNot(argument.null), DataType(c, width));
    }
    SqlValue count = LoadField(c, row, slot.Field());
    StoreField(c, row, slot.Field(), {ir.CreateAdd(count.data, one), nullptr, nullptr});
  }
}

void AggregateState::Add(Compilation& c, const Slot& slot, llvm::Value* row, const SqlValue& value,
                         Width width) const {
  jit::TrackedBuilder& ir = c.ir();
  RowField field = slot.Field();
  Width result_width = slot.aggregate->result->width();
  llvm::Value* seen_place = slot.seen != 0 ? FieldPointer(c, row, slot.seen) : nullptr;
  if (slot.aggregate->function == AggregateFunction::kSum) {
    llvm::Value* addend = ToWidth(c, value.data, result_width);
    if (value.null != nullptr) {
      addend = ir.CreateSelect(value.null, llvm::Constant::getNullValue(addend->getType()), addend);
    }
    SqlValue sum = LoadField(c, row, field);
    StoreField(c, row, field, {ir.CreateAdd(sum.data, addend), nullptr, nullptr});
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
      SqlValue old = LoadField(c, row, field);
      return SqlValue{minimum ? EmitLess(c, value, width, old, result_width)
                              : EmitLess(c, old, result_width, value, width)};
    };
    replaces = EmitChoice(c, empty, [&] { return SqlValue{ir.getTrue()}; }, better).data;
  }
  if (value.null != nullptr) replaces = ir.CreateAnd(replaces, ir.CreateNot(value.null));
  EmitIf(c, replaces, [&] {
    StoreField(c, row, field, value);
    ir.CreateStore(ir.getInt8(1), seen_place);
  });
}

void AggregateState::EmitMerge(Compilation& c, llvm::Value* row, llvm::Value* from) const {
  jit::TrackedBuilder& ir = c.ir();
  for (const Slot& slot : slots_) {
    if (IsCount(slot.aggregate->function)) {
      SqlValue a = LoadField(c, row, slot.Field());
      SqlValue b = LoadField(c, from, slot.Field());
      StoreField(c, row, slot.Field(), {ir.CreateAdd(a.data, b.data), nullptr, nullptr});
    } else {
      Add(c, slot, row, Result(c, slot, from), slot.aggregate->result->width());
    }
  }
}

SqlValue AggregateState::Result(Compilation& c, const Slot& slot, llvm::Value* row) const {
  jit::TrackedBuilder& ir = c.ir();
  SqlValue value = LoadField(c, row, slot.Field());
  if (slot.seen != 0) {
    value.null =
        ir.CreateICmpEQ(ir.CreateLoad(ir.getInt8Ty(), FieldPointer(c, row, slot.seen)), ir.getInt8(0));
  }
  return value;
}

void AggregateState::BindResults(Compilation& c, ComponentId task, llvm::Value* row) const {
  for (const Slot& slot : slots_) {
    c.values().BindLazy(slot.aggregate->result, [this, &c, &slot, task, row] {
      SqlValue value;
      c.RunTask(task, [&] { value = Result(c, slot, row); });
      return value;
    });
  }
}

}  // namespace tailor::weft
