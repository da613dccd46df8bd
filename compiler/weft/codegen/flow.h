// Structured control flow in generated code. Everything that runs under a condition gets a scope of values.
#pragma once

#include <functional>

#include "compiler/weft/codegen/compilation.h"

namespace tailor::weft {

// if (condition) then
void emit_if(Compilation& c, llvm::Value* condition, const std::function<void()>& then);
// The value of `then` or of `otherwise`; both generate values of one width.
SqlValue emit_choice(Compilation& c, llvm::Value* condition, const std::function<SqlValue()>& then,
                     const std::function<SqlValue()>& otherwise);
// for (i = begin; i < end; ++i) body(i), with i of type i64
void emit_for(Compilation& c, llvm::Value* begin, llvm::Value* end,
              const std::function<void(llvm::Value*)>& body);
// for (at = begin; at != end; at += bytes) body(at), over rows
void emit_for_rows(Compilation& c, llvm::Value* begin, llvm::Value* end, std::uint32_t bytes,
                   const std::function<void(llvm::Value*)>& body);
// while (condition()) body(); the condition is generated at the head of the loop
void emit_while(Compilation& c, const std::function<llvm::Value*()>& condition,
                const std::function<void()>& body);

}  // namespace tailor::weft
