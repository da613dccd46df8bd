// The users' functions of one workflow, as LLVM modules in one context.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// A file of functions: LLVM bitcode, or LLVM IR as text.
struct UdfImage {
  std::string name;  // of the file that it was made from, for errors
  std::string bytes;
  Place place;  // where the workflow names it
};

// Not thread-safe.
class UdfLibrary {
 public:
  // `context` outlives the library. LLVM's reader trusts bitcode, as a processor trusts code: read only what
  // you would run. Errors, with the line of the workflow: LLVM 19 cannot read the image; it is of a newer
  // LLVM, which is named where the image says it; it is for another machine; two files define a function of
  // one name.
  static Result<UdfLibrary> load(const std::string& workflow_file, std::span<const UdfImage> images,
                                 llvm::LLVMContext& context);

  // The function of that name that a file defines for others; nullptr if none does.
  llvm::Function* find(llvm::StringRef name) const;
  // What a call of `callee` runs: itself, or the function of its name in another file. nullptr: nothing of
  // the library.
  llvm::Function* definition(llvm::Function& callee) const;
  // "write extern "C" ..." if C++ has a function of that name, else nothing.
  std::string hint(const std::string& name) const;

  const std::vector<std::unique_ptr<llvm::Module>>& modules() const { return modules_; }
  // After the check: takes away the lines of sources, whose place the lineage needs, and attributes that keep
  // LLVM from its work; and puts variables into registers, so that LLVM sees where a pointer comes from.
  void prepare();

 private:
  std::vector<std::unique_ptr<llvm::Module>> modules_;
};

// The LLVM version that an image says it is of, as in "22.1.0"; empty if it does not say.
std::string image_version(const std::string& bytes);

}  // namespace tailor::weft::workflow
