// Machine code that a Jit has made (jit.h). Needs no LLVM header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/llvm/compile_options.h"
#include "compiler/llvm/deprecated_names.h"
#include "compiler/tagging/row_table_builder.h"
#include "proto/base/ids.h"

namespace tailor::jit {

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

}  // namespace tailor::jit
