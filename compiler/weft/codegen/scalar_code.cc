#include "compiler/weft/codegen/scalar_code.h"

#include <llvm/IR/Intrinsics.h>

#include <cstring>

#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {
namespace {

constexpr std::uint64_t kHashFactor = UINT64_C(0x9E3779B97F4A7C15);

llvm::Value* Mix(Compilation& c, llvm::Value* x) {
  x = c.ir().CreateMul(x, c.ir().getInt64(kHashFactor));
  return c.ir().CreateXor(x, c.ir().CreateLShr(x, 32));
}

// 64 bits that stand for the value.
llvm::Value* HashWord(Compilation& c, const SqlValue& value, Width width) {
  jit::TrackedBuilder& ir = c.ir();
  switch (width) {
    case Width::k1:
    case Width::k8:
      return ir.CreateZExt(value.data, ir.getInt64Ty());
    case Width::kString:
      return c.Call("weft_rt_text_hash", ir.getInt64Ty(), {value.data, value.length});
    case Width::k128: {
      llvm::Value* wide = ToWidth(c, value.data, Width::k128);
      llvm::Value* low = ir.CreateTrunc(wide, ir.getInt64Ty());
      llvm::Value* high = ir.CreateTrunc(ir.CreateLShr(wide, 64), ir.getInt64Ty());
      return ir.CreateXor(low, Mix(c, high));
    }
    default:
      return ToWidth(c, value.data, Width::k64);
  }
}

llvm::Value* LoadBytes(Compilation& c, llvm::Value* at, std::uint32_t offset, unsigned bytes) {
  return c.ir().CreateAlignedLoad(c.ir().getIntNTy(bytes * 8), FieldPointer(c, at, offset), llvm::Align(1));
}

}  // namespace

llvm::Type* DataType(Compilation& c, Width width) {
  switch (width) {
    case Width::k1:
      return c.ir().getInt1Ty();
    case Width::k8:
      return c.ir().getInt8Ty();
    case Width::k32:
      return c.ir().getInt32Ty();
    case Width::k64:
      return c.ir().getInt64Ty();
    case Width::k128:
      return c.ir().getInt128Ty();
    case Width::kString:
      return c.ir().getPtrTy();
  }
  return nullptr;
}

llvm::Value* ToWidth(Compilation& c, llvm::Value* value, Width width) {
  llvm::Type* type = DataType(c, width);
  return value->getType() == type ? value : c.ir().CreateSExtOrTrunc(value, type);
}

Width Wider(Width a, Width b) {
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

SqlValue ZeroValue(Compilation& c, Width width, bool null) {
  SqlValue value;
  value.data = llvm::Constant::getNullValue(DataType(c, width));
  if (width == Width::kString) value.length = c.ir().getInt64(0);
  if (null) value.null = c.ir().getTrue();
  return value;
}

llvm::Value* IsNull(Compilation& c, const SqlValue& value) {
  return value.null != nullptr ? value.null : c.ir().getFalse();
}

llvm::Value* EitherNull(Compilation& c, llvm::Value* a, llvm::Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : c.ir().CreateOr(a, b);
}

llvm::Value* EmitEqual(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width) {
  jit::TrackedBuilder& ir = c.ir();
  if (a_width != Width::kString) {
    Width wide = Wider(a_width, b_width);
    return ir.CreateICmpEQ(ToWidth(c, a.data, wide), ToWidth(c, b.data, wide));
  }
  llvm::Value* same_length = ir.CreateICmpEQ(a.length, b.length);
  return EmitChoice(
             c, same_length,
             [&] {
               return SqlValue{c.Call("weft_rt_text_equal", ir.getInt1Ty(), {a.data, b.data, a.length})};
             },
             [&] { return SqlValue{ir.getFalse()}; })
      .data;
}

llvm::Value* EmitLess(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width) {
  jit::TrackedBuilder& ir = c.ir();
  if (a_width == Width::kString) {
    llvm::Value* order =
        c.Call("weft_rt_text_compare", ir.getInt32Ty(), {a.data, a.length, b.data, b.length});
    return ir.CreateICmpSLT(order, ir.getInt32(0));
  }
  Width wide = Wider(a_width, b_width);
  llvm::Value* left = ToWidth(c, a.data, wide);
  llvm::Value* right = ToWidth(c, b.data, wide);
  bool is_unsigned = wide == Width::k1 || wide == Width::k8;
  return is_unsigned ? ir.CreateICmpULT(left, right) : ir.CreateICmpSLT(left, right);
}

llvm::Value* EmitKeyEqual(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width,
                          bool null_equal) {
  llvm::Value* equal = EmitEqual(c, a, a_width, b, b_width);
  if (a.null == nullptr && b.null == nullptr) return equal;
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* any = ir.CreateOr(IsNull(c, a), IsNull(c, b));
  llvm::Value* when_null = null_equal ? ir.CreateAnd(IsNull(c, a), IsNull(c, b)) : ir.getFalse();
  return ir.CreateSelect(any, when_null, equal);
}

llvm::Value* EmitBytesAre(Compilation& c, llvm::Value* at, const std::string& constant) {
  jit::TrackedBuilder& ir = c.ir();
  std::uint32_t bytes = static_cast<std::uint32_t>(constant.size());
  if (bytes == 0) return ir.getTrue();
  // Whole words, the last one overlapping the one before it; short texts in at most three pieces.
  unsigned piece = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
  llvm::Value* equal = nullptr;
  for (std::uint32_t offset = 0; offset < bytes;) {
    if (offset + piece > bytes) offset = bytes - piece;
    std::uint64_t word = 0;
    std::memcpy(&word, constant.data() + offset, piece);
    llvm::Value* loaded = LoadBytes(c, at, offset, piece);
    llvm::Value* same = ir.CreateICmpEQ(loaded, llvm::ConstantInt::get(loaded->getType(), word));
    equal = equal == nullptr ? same : ir.CreateAnd(equal, same);
    offset += piece;
  }
  return equal;
}

llvm::Value* EmitTextIs(Compilation& c, const SqlValue& text, const std::string& constant) {
  llvm::Value* fits = c.ir().CreateICmpEQ(text.length, c.ir().getInt64(constant.size()));
  return EmitChoice(
             c, fits, [&] { return SqlValue{EmitBytesAre(c, text.data, constant)}; },
             [&] { return SqlValue{c.ir().getFalse()}; })
      .data;
}

llvm::Value* EmitHash(Compilation& c, const std::vector<HashedKey>& keys) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* hash = nullptr;
  for (const HashedKey& key : keys) {
    llvm::Value* word = HashWord(c, key.value, key.width);
    if (key.value.null != nullptr) word = ir.CreateSelect(key.value.null, ir.getInt64(kHashFactor), word);
    // Rotated, so that equal keys in two columns do not cancel out.
    if (hash != nullptr) {
      hash = ir.CreateIntrinsic(llvm::Intrinsic::fshl, {ir.getInt64Ty()}, {hash, hash, ir.getInt64(29)});
      word = ir.CreateXor(hash, word);
    }
    hash = Mix(c, word);
  }
  return hash != nullptr ? hash : ir.getInt64(0);
}

llvm::Value* FieldPointer(Compilation& c, llvm::Value* row, std::uint32_t offset) {
  return offset == 0 ? row : c.ir().CreateConstInBoundsGEP1_64(c.ir().getInt8Ty(), row, offset);
}

void StoreField(Compilation& c, llvm::Value* row, const RowField& field, const SqlValue& value) {
  jit::TrackedBuilder& ir = c.ir();
  Width width = field.iu->width();
  llvm::Value* place = FieldPointer(c, row, field.offset);
  llvm::Value* data = value.data;
  if (width == Width::k1) data = ir.CreateZExt(data, ir.getInt8Ty());
  if (width == Width::k32 || width == Width::k64 || width == Width::k128) data = ToWidth(c, data, width);
  ir.CreateAlignedStore(data, place, llvm::Align(std::min(WidthBytes(width), 8u)));
  if (width == Width::kString) ir.CreateStore(value.length, FieldPointer(c, row, field.offset + 8));
  if (field.null_offset != 0) {
    ir.CreateStore(ir.CreateZExt(IsNull(c, value), ir.getInt8Ty()), FieldPointer(c, row, field.null_offset));
  }
}

SqlValue LoadField(Compilation& c, llvm::Value* row, const RowField& field) {
  jit::TrackedBuilder& ir = c.ir();
  Width width = field.iu->width();
  llvm::Value* place = FieldPointer(c, row, field.offset);
  SqlValue value;
  llvm::Type* type = width == Width::k1 ? ir.getInt8Ty() : DataType(c, width);
  value.data =
      ir.CreateAlignedLoad(type, place, llvm::Align(std::min(WidthBytes(width), 8u)), field.iu->name);
  if (width == Width::k1) value.data = ir.CreateTrunc(value.data, ir.getInt1Ty());
  if (width == Width::kString) {
    value.length = ir.CreateLoad(ir.getInt64Ty(), FieldPointer(c, row, field.offset + 8));
  }
  if (field.null_offset != 0) {
    value.null = ir.CreateTrunc(ir.CreateLoad(ir.getInt8Ty(), FieldPointer(c, row, field.null_offset)),
                                ir.getInt1Ty());
  }
  return value;
}

void BindRow(Compilation& c, ComponentId task, const RowLayout& layout, llvm::Value* row) {
  for (const RowField& field : layout.fields()) {
    c.values().BindLazy(field.iu, [&c, task, field, row] {
      SqlValue value;
      c.RunTask(task, [&] { value = LoadField(c, row, field); });
      return value;
    });
  }
}

llvm::Value* EmitAppend(Compilation& c, llvm::Value* buffer, std::uint32_t row_bytes) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* next_place = FieldPointer(c, buffer, TupleBuffer::kNextOffset);
  llvm::Value* next = ir.CreateLoad(ir.getPtrTy(), next_place);
  llvm::Value* limit = ir.CreateLoad(ir.getPtrTy(), FieldPointer(c, buffer, TupleBuffer::kLimitOffset));
  return EmitChoice(
             c, ir.CreateICmpNE(next, limit),
             [&] {
               ir.CreateStore(FieldPointer(c, next, row_bytes), next_place);
               return SqlValue{next};
             },
             [&] { return SqlValue{c.Call("weft_rt_grow", ir.getPtrTy(), {buffer})}; })
      .data;
}

}  // namespace tailor::weft
