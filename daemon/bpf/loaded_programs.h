// The BPF programs that are loaded on this host, with the names that the kernel gives to their code.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/host/kernel_watch.h"
#include "daemon/os/os.h"

namespace tailor::bpf {

// What the kernel says of one program. A program with functions of its own has one entry for each of them.
struct ProgramFacts {
  using Tag = std::array<std::uint8_t, 8>;
  std::string name;                      // as it was loaded; "": it has none
  std::vector<std::uint64_t> addresses;  // of its functions; 0 where the kernel hides them
  std::vector<std::uint32_t> sizes;
  std::vector<Tag> tags;               // the first is that of the whole program
  std::vector<std::string> functions;  // by its type information; empty: it has none
};

// Its functions, named as the kernel names them in /proc/kallsyms and in PERF_RECORD_KSYMBOL
// (bpf_prog_ksym_set_name). Nothing of facts that do not fit one another, or are hidden. Pure.
std::vector<capture::KernelFunction> functions_of(const ProgramFacts& facts);

// All programs that have an id, asked of the kernel one by one. Nothing where this is not permitted, where
// the kernel hides its addresses, or where `os` stands for another one than this host's. `complete` is false
// where there may be code that belongs to programs and is none: trampolines and dispatchers, of which only
// /proc/kallsyms knows. Any thread.
std::optional<capture::LoadedPrograms> loaded_programs(const os::Os& os);

}  // namespace tailor::bpf
