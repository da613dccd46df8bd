// Listens to the linker and keeps what a code object needs to know of the code as it was loaded.
#pragma once

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <mutex>

#include "compiler/llvm/loaded_code.h"

namespace tailor::jit {

// Reads `graph`, whose addresses are in place.
void capture_code(llvm::jitlink::LinkGraph& graph, LoadedCode& out);

// Thread-safe. Links are kept by the library (JITDylib) that they are made for.
class CodeCapture final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  // The code that is linked for `library` is written to `out` until forget().
  void expect(const llvm::orc::JITDylib& library, LoadedCode& out);
  void forget(const llvm::orc::JITDylib& library);

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                        llvm::jitlink::LinkGraph& graph, llvm::jitlink::PassConfiguration& config) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}

 private:
  std::mutex mutex_;
  llvm::DenseMap<const llvm::orc::JITDylib*, LoadedCode*> expected_;
};

}  // namespace tailor::jit
