// Compiles query modules to machine code in this process and says what every byte of it descends from.
// Needs no LLVM header.
#pragma once

#include <memory>
#include <string>

#include "compiler/llvm/compile_options.h"
#include "compiler/llvm/compiled_module.h"
#include "compiler/llvm/deprecated_names.h"
#include "compiler/llvm/sealed_module.h"
#include "proto/base/result.h"

namespace tailor::jit {

// One a process is enough. Thread-safe: several threads may compile at once.
class Jit : public DeprecatedJitNames<Jit, SealedModule, CompileOptions> {
 public:
  // Generates code for the CPU that LLVM calls `cpu` ("x86-64-v3"), which the host must be able to run; "":
  // for the host. Errors: the host is not x86-64, or has too little memory.
  static Result<std::unique_ptr<Jit>> create(const std::string& cpu = {});
  ~Jit();  // after all its CompiledModules
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  // Makes a function or variable of the process known to generated code. Symbols that are not defined here
  // are looked up in the process (dlsym).
  Status define(const std::string& name, const void* address);

  // Optimises, compiles, links and loads. Errors: LLVM's, e.g. a symbol nobody defines.
  Result<std::unique_ptr<CompiledModule>> compile(SealedModule module, const CompileOptions& options);

 private:
  struct State;
  explicit Jit(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tailor::jit
