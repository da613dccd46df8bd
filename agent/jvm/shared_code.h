// Code that works for its callers: code objects without a dictionary.
#pragma once

#include <cstdint>
#include <string>

#include "agent/jvm/compiled_code.h"
#include "agent/jvm/java_plan.h"

namespace tailor::jvm {

// With the call frames `frames` (.eh_frame). NULL where the agent takes no more.
CodeBuilder shared_code(std::uint64_t base, std::uint32_t size, const std::string& name,
                        const std::string& frames);

// A code object that belongs to nobody, with its call frames.
CodeBuilder nobodys_code(const CompiledCode& code);

}  // namespace tailor::jvm
