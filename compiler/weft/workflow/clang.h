// Compiles users' C++ functions by a clang that is found when it is needed: weft itself does not link one.
#pragma once

#include <string>

#include "proto/base/result.h"

namespace tailor::weft::workflow {

// The clang to use: `named` if it is not empty, else clang++-19 or clang-19 of PATH, else that of Debian's
// folder for LLVM 19. Errors: there is none; `named` is no program.
Result<std::string> find_clang(const std::string& named);

struct CxxSource {
  std::string name;    // for errors, and for the names of lines
  std::string folder;  // where its own #include "..." are looked for; empty: nowhere
  std::string text;
};

// LLVM bitcode of the source as clang wrote it: without LLVM's own passes, so that weft can inline each
// function and still knows whose code it is; with line numbers, for errors. Waits at most a minute. Errors:
// what clang said; clang cannot be started, does not end, or writes more than 64 MiB.
Result<std::string> compile_cxx(const std::string& clang, const CxxSource& source);

}  // namespace tailor::weft::workflow
