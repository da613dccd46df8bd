// What LLVM makes of users' functions (Tupleware, section 4.1, "UDF Analyzer"): whether a loop over tuples
// with the function alone in it can use vectors of this host, and if not, why. LLVM's loop vectoriser itself
// is asked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/llvm/query_module.h"
#include "compiler/weft/workflow/signature.h"
#include "compiler/weft/workflow/udf_inliner.h"
#include "compiler/weft/workflow/udf_library.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

struct UdfVerdict {
  bool vectorised = false;
  std::string said;  // LLVM's remark; empty: LLVM said nothing, as where no loop was left
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
  // After run(). nullptr: it was not added.
  const UdfVerdict* verdict(const std::string& key) const;

 private:
  jit::QueryModule& module_;
  UdfInliner inliner_;
  std::map<std::string, std::size_t> numbers_;  // by key
  std::vector<UdfVerdict> verdicts_;
};

}  // namespace tailor::weft::workflow
