// Generated code on single values: widths, comparison, hashing, rows in memory.
#pragma once

#include <vector>

#include "compiler/weft/codegen/compilation.h"

namespace tailor::weft {

llvm::Type* data_type(Compilation& c, Width width);
// Integers of widths k32, k64, k128 (sign-extended or cut), and anything to its own width.
llvm::Value* to_width(Compilation& c, llvm::Value* value, Width width);
Width wider(Width a, Width b);

SqlValue zero_value(Compilation& c, Width width, bool null);
llvm::Value* is_null(Compilation& c, const SqlValue& value);  // i1, also where it cannot be null
// a or b, nullptr being false.
llvm::Value* either_null(Compilation& c, llvm::Value* a, llvm::Value* b);

// Neither is null. Texts call the runtime where their lengths do not decide.
llvm::Value* emit_equal(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width);
llvm::Value* emit_less(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b, Width b_width);
// Equal as keys: nulls are equal if `null_equal`, else equal to nothing.
llvm::Value* emit_key_equal(Compilation& c, const SqlValue& a, Width a_width, const SqlValue& b,
                            Width b_width, bool null_equal);
// The text equals a constant.
llvm::Value* emit_text_is(Compilation& c, const SqlValue& text, const std::string& constant);
// The bytes at `at` (at least as many) equal a constant.
llvm::Value* emit_bytes_are(Compilation& c, llvm::Value* at, const std::string& constant);

// A hash of key values. Each is hashed in the width given, so that both sides of a join agree.
struct HashedKey {
  SqlValue value;
  Width width;
};
llvm::Value* emit_hash(Compilation& c, const std::vector<HashedKey>& keys);

llvm::Value* field_pointer(Compilation& c, llvm::Value* row, std::uint32_t offset);
void store_field(Compilation& c, llvm::Value* row, const RowField& field, const SqlValue& value);
SqlValue load_field(Compilation& c, llvm::Value* row, const RowField& field);
// Binds every unit of the layout to its field in `row`, loaded where it is first needed.
void bind_row(Compilation& c, ComponentId task, const RowLayout& layout, llvm::Value* row);
// A new row at the end of the TupleBuffer at `buffer`.
llvm::Value* emit_append(Compilation& c, llvm::Value* buffer, std::uint32_t row_bytes);

}  // namespace tailor::weft
