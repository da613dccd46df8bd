// The names that the classes of this folder had in the first development version of 0.1. They go with 0.2:
// use the new ones, which are the same in lower case with underscores. Needs no LLVM header: those of classes
// that do are in deprecated_ir_names.h.
#pragma once

#include <string>
#include <utility>

#include "proto/base/ids.h"

// NOLINTBEGIN(readability-identifier-naming): this is what they were called.
namespace tailor::jit {

template <typename Module>
class DeprecatedSealedNames {
 public:
  [[deprecated("clone")]] auto Clone() const { return static_cast<const Module&>(*this).clone(); }

 private:
  friend Module;
  DeprecatedSealedNames() = default;
};

template <typename Module>
class DeprecatedCompiledNames {
 public:
  [[deprecated("address")]] void* Address(const std::string& function) const {
    return self().address(function);
  }
  template <typename Signature>
  [[deprecated("function")]] Signature* Function(const std::string& function) const {
    return self().template function<Signature>(function);
  }
  [[deprecated("code_object")]] std::string CodeObject(CodeId id, PlanId plan) const {
    return self().code_object(id, plan);
  }

 private:
  friend Module;
  DeprecatedCompiledNames() = default;
  const Module& self() const { return static_cast<const Module&>(*this); }
};

template <typename Jit, typename Sealed, typename Options>
class DeprecatedJitNames {
 public:
  [[deprecated("create")]] static auto Create(const std::string& cpu = {}) { return Jit::create(cpu); }
  [[deprecated("define")]] auto Define(const std::string& name, const void* address) {
    return self().define(name, address);
  }
  [[deprecated("compile")]] auto Compile(Sealed module, const Options& options) {
    return self().compile(std::move(module), options);
  }

 private:
  friend Jit;
  DeprecatedJitNames() = default;
  Jit& self() { return static_cast<Jit&>(*this); }
};

}  // namespace tailor::jit
// NOLINTEND(readability-identifier-naming)
