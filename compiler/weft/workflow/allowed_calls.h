// What users' functions may call beside each other: functions that compute a value and have no other effect.
#pragma once

#include <llvm/IR/Function.h>

namespace tailor::weft::workflow {

// An intrinsic of LLVM that computes, copies the function's own memory, or says something to LLVM.
bool is_allowed_intrinsic(llvm::Intrinsic::ID id);

// One that x86-64 has no instructions for: machine code calls the function of <math.h>.
bool calls_math(llvm::Intrinsic::ID id);

// A function of the C library's <math.h>, declared with its real type.
bool is_allowed_math(const llvm::Function& function);

// The names, for errors: "acos, acosh, ...".
const char* allowed_math_names();

}  // namespace tailor::weft::workflow
