#include "compiler/weft/codegen/scalar_code.h"

#include <llvm/IR/Intrinsics.h>

#include <cstring>

#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {
namespace {

constexpr std::uint64_t kHashFactor = UINT64_C(0x9E3779B97F4A7C15);

llvm::Value* mix(Compilation& c, llvm::Value* x) {
  x = c.ir().CreateMul(x, c.ir().getInt64(kHashFactor));
  return c.ir().CreateXor(x, c.ir().CreateLShr(x, 32));
}

// 64 bits that stand for the value.
llvm::Value* hash_word(Compilation& c, const SqlValue& value, Width width) {
  jit::TrackedBuilder& ir = c.ir();
  switch (width) {
    case Width::k1:
    case Width::k8:
      return ir.CreateZExt(value.data, ir.getInt64Ty());
    case Width::kString:
      return c.call("weft_rt_text_hash", ir.getInt64Ty(), {value.data, value.length});
    case Width::k128: {
      llvm::Value* wide = to_width(c, value.data, Width::k128);
      llvm::Value* low = ir.CreateTrunc(wide, ir.getInt64Ty());
      llvm::Value* high = ir.CreateTrunc(ir.CreateLShr(wide, 64), ir.getInt64Ty());
      return ir.CreateXor(low, mix(c, high));
    }
    default:
      return to_width(c, value.data, Width::k64);
  }
}

llvm::Value* load_bytes(Compilation& c, llvm::Value* at, std::uint32_t offset, unsigned bytes) {
  return c.ir().CreateAlignedLoad(c.ir().getIntNTy(bytes * 8), field_pointer(c, at, offset), llvm::Align(1));
}

}  // namespace

llvm::Type* data_type(Compilation& c, Width width) {
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

llvm::Value* to_width(Compilation& c, llvm::Value* value, Width width) {
  llvm::Type* type = data_type(c, width);
  return value->getType() == type ? value : c.ir().CreateSExtOrTrunc(value, type);
}

Width wider(Width a, Width b) {
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

SqlValue zero_value(Compilation& c, Width width, bool null) {
  SqlValue value;
  value.data = llvm::Constant::getNullValue(data_type(c, width));
  if (width == Width::kString) value.length = c.ir().getInt64(0);
  if (null) value.null = c.ir().getTrue();
  return value;
}

llvm::Value* is_null(Compilation& c, const SqlValue& value) {
  return value.null != nullptr ? value.null : c.ir().getFalse();
}

llvm::Value* either_null(Compilation& c, llvm::Value* a, llvm::Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : c.ir().CreateOr(a, b);
}

llvm::Value* emit_equal(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width) {
  jit::TrackedBuilder& ir = c.ir();
  if (a_width != Width::kString) {
    Width wide = wider(a_width, b_width);
    return ir.CreateICmpEQ(to_width(c, a.data, wide), to_width(c, b.data, wide));
  }
  llvm::Value* same_length = ir.CreateICmpEQ(a.length, b.length);
  return emit_choice(
             c, same_length,
             [&] {
               return SqlValue{c.call("weft_rt_text_equal", ir.getInt1Ty(), {a.data, b.data, a.length})};
             },
             [&] { return SqlValue{ir.getFalse()}; })
      .data;
}

llvm::Value* emit_less(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width) {
  jit::TrackedBuilder& ir = c.ir();
  if (a_width == Width::kString) {
    llvm::Value* order =
        c.call("weft_rt_text_compare", ir.getInt32Ty(), {a.data, a.length, b.data, b.length});
    return ir.CreateICmpSLT(order, ir.getInt32(0));
  }
  Width wide = wider(a_width, b_width);
  llvm::Value* left = to_width(c, a.data, wide);
  llvm::Value* right = to_width(c, b.data, wide);
  bool is_unsigned = wide == Width::k1 || wide == Width::k8;
  return is_unsigned ? ir.CreateICmpULT(left, right) : ir.CreateICmpSLT(left, right);
}

llvm::Value* emit_key_equal(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b,
                            Width b_width, bool null_equal) {
  llvm::Value* equal = emit_equal(c, a, a_width, b, b_width);
  if (a.null == nullptr && b.null == nullptr) return equal;
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* any = ir.CreateOr(is_null(c, a), is_null(c, b));
  llvm::Value* when_null = null_equal ? ir.CreateAnd(is_null(c, a), is_null(c, b)) : ir.getFalse();
  return ir.CreateSelect(any, when_null, equal);
}

llvm::Value* emit_bytes_are(Compilation& c, llvm::Value* at, const std::string& constant) {
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
    llvm::Value* loaded = load_bytes(c, at, offset, piece);
    llvm::Value* same = ir.CreateICmpEQ(loaded, llvm::ConstantInt::get(loaded->getType(), word));
    equal = equal == nullptr ? same : ir.CreateAnd(equal, same);
    offset += piece;
  }
  return equal;
}

llvm::Value* emit_text_is(Compilation& c, const SqlValue& text, const std::string& constant) {
  llvm::Value* fits = c.ir().CreateICmpEQ(text.length, c.ir().getInt64(constant.size()));
  return emit_choice(
             c, fits, [&] { return SqlValue{emit_bytes_are(c, text.data, constant)}; },
             [&] { return SqlValue{c.ir().getFalse()}; })
      .data;
}

llvm::Value* emit_hash(Compilation& c, const std::vector<HashedKey>& keys) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* hash = nullptr;
  for (const HashedKey& key : keys) {
    llvm::Value* word = hash_word(c, key.value, key.width);
    if (key.value.null != nullptr) word = ir.CreateSelect(key.value.null, ir.getInt64(kHashFactor), word);
    // Rotated, so that equal keys in two columns do not cancel out.
    if (hash != nullptr) {
      hash = ir.CreateIntrinsic(llvm::Intrinsic::fshl, {ir.getInt64Ty()}, {hash, hash, ir.getInt64(29)});
      word = ir.CreateXor(hash, word);
    }
    hash = mix(c, word);
  }
  return hash != nullptr ? hash : ir.getInt64(0);
}

llvm::Value* field_pointer(Compilation& c, llvm::Value* row, std::uint32_t offset) {
  return offset == 0 ? row : c.ir().CreateConstInBoundsGEP1_64(c.ir().getInt8Ty(), row, offset);
}

void store_field(Compilation& c, llvm::Value* row, const RowField& field, const SqlValue& value) {
  jit::TrackedBuilder& ir = c.ir();
  Width width = field.iu->width();
  llvm::Value* place = field_pointer(c, row, field.offset);
  llvm::Value* data = value.data;
  if (width == Width::k1) data = ir.CreateZExt(data, ir.getInt8Ty());
  if (width == Width::k32 || width == Width::k64 || width == Width::k128) data = to_width(c, data, width);
  ir.CreateAlignedStore(data, place, llvm::Align(std::min(width_bytes(width), 8u)));
  if (width == Width::kString) ir.CreateStore(value.length, field_pointer(c, row, field.offset + 8));
  if (field.null_offset != 0) {
    ir.CreateStore(ir.CreateZExt(is_null(c, value), ir.getInt8Ty()),
                   field_pointer(c, row, field.null_offset));
  }
}

SqlValue load_field(Compilation& c, llvm::Value* row, const RowField& field) {
  jit::TrackedBuilder& ir = c.ir();
  Width width = field.iu->width();
  llvm::Value* place = field_pointer(c, row, field.offset);
  SqlValue value;
  llvm::Type* type = width == Width::k1 ? ir.getInt8Ty() : data_type(c, width);
  value.data =
      ir.CreateAlignedLoad(type, place, llvm::Align(std::min(width_bytes(width), 8u)), field.iu->name);
  if (width == Width::k1) value.data = ir.CreateTrunc(value.data, ir.getInt1Ty());
  if (width == Width::kString) {
    value.length = ir.CreateLoad(ir.getInt64Ty(), field_pointer(c, row, field.offset + 8));
  }
  if (field.null_offset != 0) {
    value.null = ir.CreateTrunc(ir.CreateLoad(ir.getInt8Ty(), field_pointer(c, row, field.null_offset)),
                                ir.getInt1Ty());
  }
  return value;
}

void bind_row(Compilation& c, ComponentId task, const RowLayout& layout, llvm::Value* row) {
  for (const RowField& field : layout.fields()) {
    c.values().bind_lazy(field.iu, [&c, task, field, row] {
      SqlValue value;
      c.run_task(task, [&] { value = load_field(c, row, field); });
      return value;
    });
  }
}

llvm::Value* emit_append(Compilation& c, llvm::Value* buffer, std::uint32_t row_bytes) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* next_place = field_pointer(c, buffer, TupleBuffer::kNextOffset);
  llvm::Value* next = ir.CreateLoad(ir.getPtrTy(), next_place);
  llvm::Value* limit = ir.CreateLoad(ir.getPtrTy(), field_pointer(c, buffer, TupleBuffer::kLimitOffset));
  return emit_choice(
             c, ir.CreateICmpNE(next, limit),
             [&] {
               ir.CreateStore(field_pointer(c, next, row_bytes), next_place);
               return SqlValue{next};
             },
             [&] { return SqlValue{c.call("weft_rt_grow", ir.getPtrTy(), {buffer})}; })
      .data;
}

}  // namespace tailor::weft
