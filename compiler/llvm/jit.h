// Compiles query modules to machine code in this process and says what every byte of it descends from.
// Needs no LLVM header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/llvm/deprecated_names.h"
#include "compiler/llvm/sealed_module.h"
#include "compiler/tagging/row_table_builder.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::jit {

enum class OptLevel { kO0 = 0, kO1, kO2, kO3 };

// A check of the repair of lost locations: hides a random part of the recorded ones, repairs, and tells what
// was found instead; so often, each time with the next seed. Does not change what is compiled.
struct RepairTrial {
  unsigned seed = 1;
  unsigned rounds = 1;
  double hidden_fraction = 0.1;
  struct Guess {
    std::vector<ComponentId> recorded, inferred;  // IR components; inferred is empty where nothing was found
  };
  std::vector<Guess> guesses;  // filled by the compilation
};

struct CompileOptions {
  OptLevel level = OptLevel::kO2;
  RepairTrial* trial = nullptr;  // outlives the compilation; not owned
};

// Milliseconds of one compilation. `lineage` is the part of the others that only lineage needs: tracking
// values, repairing locations, writing and reading rows.
struct CompileTimes {
  double optimise = 0, codegen = 0, link = 0, lineage = 0;
};

struct FunctionRange {
  std::string name;
  std::uint32_t offset = 0;  // from the start of the code
  std::uint32_t size = 0;
};

// A symbol that the code takes from outside itself: a shared function, or one whose call LLVM inserted.
struct Import {
  std::string name;
  bool untagged =
      false;  // something calls it outside of call_shared and of the calls that LLVM inserts for a task
};

// Machine code of one module, loaded and ready to run. It is unloaded when this object is destroyed: no
// thread may be in it then, and tailor_code_unload() must have been called. Immutable, so usable from any
// thread.
class CompiledModule : public DeprecatedCompiledNames<CompiledModule> {
 public:
  struct State;
  explicit CompiledModule(std::unique_ptr<State> state);
  ~CompiledModule();
  CompiledModule(const CompiledModule&) = delete;
  CompiledModule& operator=(const CompiledModule&) = delete;

  // The entry of a function, nullptr if the module defines none of that name.
  void* address(const std::string& function) const;
  template <typename Signature>
  Signature* function(const std::string& function) const {
    return reinterpret_cast<Signature*>(address(function));
  }

  std::uint64_t base() const;
  const std::string& code() const;  // a copy of the bytes as loaded
  const std::vector<FunctionRange>& functions() const;
  // By name. Without a register strategy all are said to be tagged: a slot is written by sections, not by
  // calls.
  const std::vector<Import>& imports() const;
  const tagging::RowTableBuilder& rows() const;
  const CompileTimes& times() const;
  OptLevel level() const;

  // The serialised tailor.v1.CodeObject for tailor_code_load(), under the ids that tailor_code_new() and
  // tailor_plan_new() gave.
  std::string code_object(CodeId id, PlanId plan) const;

 private:
  std::unique_ptr<State> state_;
};

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
