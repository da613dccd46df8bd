// Tells gdb the names of generated code, through the interface that it has for JIT compilers (GDB manual,
// "JIT Compilation Interface"): an object file in memory, with symbols and unwind table, for every code
// object.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::tagging {

// The ELF file that gdb is given: sections where the code and its unwind table lie, a symbol for each
// function. Pure.
std::string symbol_file(const v1::CodeObject& code);

// Thread-safe. Costs a stop of the process for each object only while a debugger is attached.
class GdbSymbols {
 public:
  GdbSymbols();
  ~GdbSymbols();  // gdb forgets everything
  GdbSymbols(const GdbSymbols&) = delete;
  GdbSymbols& operator=(const GdbSymbols&) = delete;

  // Of code that was just loaded.
  void add(const v1::CodeObject& code);

 private:
  struct Entry;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tailor::tagging
