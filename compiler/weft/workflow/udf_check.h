// Whether the users' functions may stand in generated loops.
#pragma once

#include <cstdint>

#include "compiler/weft/workflow/signature.h"
#include "compiler/weft/workflow/udf_library.h"
#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// Every function that the workflow names must be there, have the type that its operator needs, and consist of
// code that can be inlined: it calls functions of the library and those of
// compiler/weft/workflow/allowed_calls.h alone, none calls itself, and none has memory that outlives the
// call. Call it before the library's lines are stripped. Errors, with the line of the workflow that names the
// function and, where the image has lines, that of the function's own source.
Status check_udfs(const Workflow& workflow, const UdfLibrary& library);

// The LLVM type of one value.
llvm::Type* llvm_type(Scalar scalar, llvm::LLVMContext& context);

// What the code of a function does, with all that it calls: for `weft explain`.
struct UdfCounts {
  std::uint64_t instructions = 0;
  std::uint64_t loads = 0, stores = 0;
  std::uint64_t branches = 0;  // conditional ones
  std::uint64_t math_calls = 0;
  bool loops = false;
};
// `function` has passed check_udfs().
UdfCounts count_udf(const UdfLibrary& library, llvm::Function& function);

}  // namespace tailor::weft::workflow
