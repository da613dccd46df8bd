// What a code object needs to know of code as it was loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/llvm/compile_options.h"
#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::jit {

// Jumps that the linker made for calls of functions far away. They are nobody's own: the tag says for whom
// they run.
struct StubRange {
  std::uint64_t address = 0, size = 0;
};

struct LoadedCode {
  std::uint64_t base = 0;
  std::string code;
  std::uint64_t eh_frame_address = 0;
  std::string eh_frame;
  std::vector<FunctionRange> functions;  // by offset
  std::vector<Import> imports;           // by name
  std::vector<StubRange> stubs;
};

tailor::v1::CodeObject make_code_object(const LoadedCode& loaded, CodeId id, PlanId plan,
                                        const std::string& tier, tailor::v1::RowTable rows);

}  // namespace tailor::jit
