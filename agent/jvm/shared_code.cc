#include "agent/jvm/shared_code.h"

#include <tailor/agent.h>

#include "agent/jvm/call_frames.h"

namespace tailor::jvm {

CodeBuilder shared_code(std::uint64_t base, std::uint32_t size, const std::string& name,
                        const std::string& frames) {
  const auto* begin = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(base));
  CodeBuilder builder(tailor_code_builder_new(0, begin, size));
  tailor_code_builder_leave_code_out(builder.get());
  tailor_code_builder_set_name(builder.get(), name.c_str());
  tailor_code_builder_set_eh_frame(builder.get(), frames.data(), frames.size(), nullptr);
  return builder;
}

CodeBuilder nobodys_code(const CompiledCode& code) {
  CodeBuilder builder = shared_code(code.base, code.size, code.methods[0].name, frames_of_compiled(code));
  tailor_code_builder_set_tier(builder.get(), tier_of(code.facts).c_str());
  return builder;
}

}  // namespace tailor::jvm
