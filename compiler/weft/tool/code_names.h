// Names of generated code for other tools than Tailor, as the command line asks for them.
#pragma once

#include <memory>

#include "compiler/tagging/gdb_symbols.h"
#include "compiler/tagging/perf_files.h"
#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/tool/command_line.h"

namespace tailor::weft {

// Thread-safe once made. Outlives the queries.
class CodeNames final : public CodeObserver {
 public:
  // Errors: files that cannot be made.
  static Result<CodeNames> make(const CommandLine& command);

  bool wanted() const { return map_ != nullptr || dump_ != nullptr || gdb_ != nullptr; }
  // What cannot be written is told on the error stream, once.
  void loaded(const v1::Plan& plan, const v1::CodeObject& code) override;

 private:
  std::unique_ptr<tagging::PerfMap> map_;
  std::unique_ptr<tagging::JitDump> dump_;
  std::unique_ptr<tagging::GdbSymbols> gdb_;
};

}  // namespace tailor::weft
