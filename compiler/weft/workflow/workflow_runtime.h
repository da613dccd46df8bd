// What generated code of workflows calls. It runs under the tag of the operator that calls it.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "compiler/weft/runtime/symbols.h"

extern "C" {
// One worker at a time is between them: for synchronous operators.
void weft_wf_lock(std::mutex* mutex);
void weft_wf_unlock(std::mutex* mutex);
// These end the run with an error that names the line of the workflow.
[[noreturn]] void weft_wf_fail_key(std::uint64_t line, std::int64_t key, std::uint64_t slots);
[[noreturn]] void weft_wf_fail_count(std::uint64_t line, std::int64_t count, std::uint64_t most);
}

namespace tailor::weft::workflow {

// The functions above, for the linker of generated code.
std::span<const RuntimeSymbol> workflow_symbols();

}  // namespace tailor::weft::workflow
