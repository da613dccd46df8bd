// What LLVM makes of users' functions (Tupleware, section 4.1, "UDF Analyzer"), each alone in a loop over
// tuples: whether the loop uses vectors of this host, and if not, why; how many cycles a tuple takes; and
// which bytes of inputs a tuple moves. LLVM's loop vectoriser itself is asked, and LLVM's model of this CPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/llvm/loop_cycles.h"
#include "compiler/llvm/query_module.h"
#include "compiler/weft/workflow/signature.h"
#include "compiler/weft/workflow/udf_inliner.h"
#include "compiler/weft/workflow/udf_library.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

struct UdfVerdict {
  bool vectorised = false;
  std::string said;  // LLVM's remark; empty: LLVM said nothing, as where no loop was left
  jit::LoopCycles cycles;
  // Of a tuple, in the memory of inputs.
  std::uint64_t loaded_bytes = 0, stored_bytes = 0;
};

// Not thread-safe. add() all functions, then run() once. The module is the analyser's: what is in it is
// nothing that runs.
class UdfAnalyser {
 public:
  // `library` is in the context of `module` and prepared; both outlive the analyser.
  UdfAnalyser(jit::QueryModule& module, const UdfLibrary& library)
      : module_(module), inliner_(module, library) {}

  // `key` names this use of the function.
  void add(const std::string& key, llvm::Function& function, const SignatureSpec& signature);
  // Errors: LLVM does not know this host.
  Status run();
  // After run(): the CPU whose model was asked, as LLVM calls it.
  const std::string& cpu() const { return cpu_; }
  // After run(). nullptr: it was not added.
  const UdfVerdict* verdict(const std::string& key) const;

 private:
  jit::QueryModule& module_;
  UdfInliner inliner_;
  std::map<std::string, std::size_t> numbers_;  // by key
  std::vector<UdfVerdict> verdicts_;
  std::string cpu_;
};

}  // namespace tailor::weft::workflow
