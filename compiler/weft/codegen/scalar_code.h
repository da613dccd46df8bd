// Generated code on single values: widths, comparison, hashing, rows in memory.
#pragma once

#include <vector>

#include "compiler/weft/codegen/compilation.h"

namespace tailor::weft {

llvm::Type* DataType(Compilation& c, Width width);
// Integers of widths k32, k64, k128 (sign-extended or cut), and anything to its own width.
llvm::Value* ToWidth(Compilation& c, llvm::Value* value, Width width);
Width Wider(Width a, Width b);

SqlValue ZeroValue(Compilation& c, Width width, bool null);
llvm::Value* IsNull(Compilation& c, const SqlValue& value);  // i1, also where it cannot be null
// a or b, nullptr being false.
llvm::Value* EitherNull(Compilation& c, llvm::Value* a, llvm::Value* b);

// Neither is null. Texts call the runtime where their lengths do not decide.
llvm::Value* EmitEqual(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width);
llvm::Value* EmitLess(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width);
// Equal as keys: nulls are equal if `null_equal`, else equal to nothing.
llvm::Value* EmitKeyEqual(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width,
                          bool null_equal);
// The text equals a constant.
llvm::Value* EmitTextIs(Compilation& c, const SqlValue& text, const std::string& constant);
// The bytes at `at` (at least as many) equal a constant.
llvm::Value* EmitBytesAre(Compilation& c, llvm::Value* at, const std::string& constant);

// A hash of key values. Each is hashed in the width given, so that both sides of a join agree.
struct HashedKey {
  SqlValue value;
  Width width;
};
llvm::Value* EmitHash(Compilation& c, const std::vector<HashedKey>& keys);

llvm::Value* FieldPointer(Compilation& c, llvm::Value* row, std::uint32_t offset);
void StoreField(Compilation& c, llvm::Value* row, const RowField& field, const SqlValue& value);
SqlValue LoadField(Compilation& c, llvm::Value* row, const RowField& field);
// Binds every unit of the layout to its field in `row`, loaded where it is first needed.
void BindRow(Compilation& c, ComponentId task, const RowLayout& layout, llvm::Value* row);
// A new row at the end of the TupleBuffer at `buffer`.
llvm::Value* EmitAppend(Compilation& c, llvm::Value* buffer, std::uint32_t row_bytes);

}  // namespace tailor::weft
