// LLVM target machines for this host: dear to make, and each good for one thread at a time.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/llvm/compile_options.h"
#include "proto/base/result.h"

namespace tailor::jit {

// Thread-safe.
class TargetPool {
 public:
  // For the CPU that LLVM calls `cpu`, with its features only; "": the host, with all it has. Errors: LLVM
  // has no back end for this host.
  static Result<std::unique_ptr<TargetPool>> create(const std::string& cpu = {});

  Result<std::unique_ptr<llvm::TargetMachine>> take(OptLevel level);
  void put_back(OptLevel level, std::unique_ptr<llvm::TargetMachine> target);

  const llvm::DataLayout& layout() const { return layout_; }

 private:
  TargetPool(llvm::orc::JITTargetMachineBuilder builder, const llvm::DataLayout& layout)
      : builder_(std::move(builder)), layout_(layout) {}

  std::mutex mutex_;
  llvm::orc::JITTargetMachineBuilder builder_;
  llvm::DataLayout layout_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> free_[4];  // by level
};

}  // namespace tailor::jit
