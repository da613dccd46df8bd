// A finished query module on its way to the compiler: IR whose debug line numbers are IR component ids.
// Needs no LLVM header.
#pragma once

#include <cstdint>
#include <memory>

#include "compiler/llvm/deprecated_names.h"
#include "proto/base/ids.h"

namespace tailor::jit {

// Move-only, owned by one thread at a time.
class SealedModule : public DeprecatedSealedNames<SealedModule> {
 public:
  struct State;
  explicit SealedModule(std::unique_ptr<State> state);
  SealedModule(SealedModule&&) noexcept;
  SealedModule& operator=(SealedModule&&) noexcept;
  ~SealedModule();

  // A copy of its own, in a context of its own: compile one at O0 at once and another at O2 meanwhile, in
  // another thread. Both refer to the same components.
  SealedModule clone() const;

  // IR components first .. first + count - 1 are this module's lines.
  ComponentId first_component() const;
  std::uint32_t component_count() const;
  // Instructions that no tracked builder had inserted, and that were given their neighbours' owners.
  std::uint32_t adopted_instructions() const;

  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tailor::jit
