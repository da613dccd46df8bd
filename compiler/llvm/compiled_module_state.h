// What a CompiledModule holds. For the folder itself.
#pragma once

#include <functional>

#include "compiler/llvm/code_capture.h"
#include "compiler/llvm/compiled_module.h"

namespace tailor::jit {

struct CompiledModule::State {
  LoadedCode loaded;
  tagging::RowTableBuilder rows;
  CompileTimes times;
  OptLevel level = OptLevel::kO2;
  std::function<void()> unload;
};

}  // namespace tailor::jit
