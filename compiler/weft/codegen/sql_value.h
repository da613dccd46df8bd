// A value in generated code.
#pragma once

namespace llvm {
class Value;
}

namespace tailor::weft {

struct SqlValue {
  llvm::Value* data = nullptr;    // in its width; strings: the pointer. Of a null bool: false
  llvm::Value* length = nullptr;  // strings only: i64
  llvm::Value* null = nullptr;    // i1, nullptr if it cannot be null
};

}  // namespace tailor::weft
