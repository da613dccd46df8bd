#include "compiler/llvm/compiled_module_state.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::jit {
namespace {

const char* TierName(OptLevel level) {
  static const char* const kNames[] = {"O0", "O1", "O2", "O3"};
  return kNames[static_cast<int>(level)];
}

}  // namespace

CompiledModule::CompiledModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModule::~CompiledModule() {
  state_->unload();
}

void* CompiledModule::Address(const std::string& function) const {
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

std::string CompiledModule::CodeObject(CodeId id, PlanId plan) const {
  tailor::v1::CodeObject out;
  out.set_id(id);
  out.set_plan_id(plan);
  out.set_base(base());
  out.set_code(code());
  if (!functions().empty()) out.set_name(functions().front().name);
  out.set_tier(TierName(level()));
  *out.mutable_rows() = rows().Build();
  for (const FunctionRange& range : functions()) {
    auto* symbol = out.add_symbols();
    symbol->set_offset(range.offset);
    symbol->set_size(range.size);
    symbol->set_name(range.name);
  }
  out.set_eh_frame(state_->loaded.eh_frame);
  out.set_eh_frame_address(state_->loaded.eh_frame_address);
  return out.SerializeAsString();
}

}  // namespace tailor::jit
