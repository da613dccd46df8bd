// The functions of a kernel that name waits, from the text of its symbol table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::capture {

struct KernelFunction {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::string name;
};

// The functions that wait_in() knows, from the text of /proc/kallsyms. Sizes are not told there: a function
// ends where the next symbol begins.
std::vector<KernelFunction> wait_functions(std::string_view kallsyms);

// BPF programs and what belongs to them, from the same text. Each ends where the next symbol begins, and with
// its page: nothing says that a longer one is not followed by another's code, which has no symbol.
std::vector<KernelFunction> bpf_functions(std::string_view kallsyms);

}  // namespace tailor::capture
