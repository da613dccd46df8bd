#include "compiler/llvm/compiled_module_state.h"

namespace tailor::jit {
namespace {

const char* tier_name(OptLevel level) {
  static const char* const kNames[] = {"O0", "O1", "O2", "O3"};
  return kNames[static_cast<int>(level)];
}

}  // namespace

CompiledModule::CompiledModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModule::~CompiledModule() {
  state_->unload();
}

void* CompiledModule::address(const std::string& function) const {
  for (const FunctionRange& range : functions()) {
    if (range.name == function) return reinterpret_cast<void*>(base() + range.offset);
  }
  return nullptr;
}

std::uint64_t CompiledModule::base() const {
  return state_->loaded.base;
}
const std::string& CompiledModule::code() const {
  return state_->loaded.code;
}
const std::vector<FunctionRange>& CompiledModule::functions() const {
  return state_->loaded.functions;
}
const std::vector<Import>& CompiledModule::imports() const {
  return state_->loaded.imports;
}
const tagging::RowTableBuilder& CompiledModule::rows() const {
  return state_->rows;
}
const CompileTimes& CompiledModule::times() const {
  return state_->times;
}
OptLevel CompiledModule::level() const {
  return state_->level;
}

std::string CompiledModule::code_object(CodeId id, PlanId plan) const {
  return make_code_object(state_->loaded, id, plan, tier_name(level()), rows().build()).SerializeAsString();
}

}  // namespace tailor::jit
