#include "compiler/llvm/loaded_code.h"

#include <utility>

namespace tailor::jit {

tailor::v1::CodeObject make_code_object(const LoadedCode& loaded, CodeId id, PlanId plan,
                                        const std::string& tier, tailor::v1::RowTable rows) {
  tailor::v1::CodeObject out;
  out.set_id(id);
  out.set_plan_id(plan);
  out.set_base(loaded.base);
  out.set_code(loaded.code);
  if (!loaded.functions.empty()) out.set_name(loaded.functions.front().name);
  out.set_tier(tier);
  *out.mutable_rows() = std::move(rows);
  for (const FunctionRange& range : loaded.functions) {
    auto* symbol = out.add_symbols();
    symbol->set_offset(range.offset);
    symbol->set_size(range.size);
    symbol->set_name(range.name);
  }
  for (const StubRange& range : loaded.stubs) {
    auto* stubs = out.add_stubs();
    stubs->set_address(range.address);
    stubs->set_size(range.size);
  }
  out.set_eh_frame(loaded.eh_frame);
  out.set_eh_frame_address(loaded.eh_frame_address);
  return out;
}

}  // namespace tailor::jit
