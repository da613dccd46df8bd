#include "compiler/llvm/target_pool.h"

#include <llvm/Support/TargetSelect.h>

#include "compiler/llvm/llvm_api.h"
#include "proto/base/errors.h"

namespace tailor::jit {
namespace {

CodeGenLevel code_level(OptLevel level) {
  switch (level) {
    case OptLevel::kO0:
      return CodeGenLevel::None;
    case OptLevel::kO1:
      return CodeGenLevel::Less;
    case OptLevel::kO2:
      return CodeGenLevel::Default;
    case OptLevel::kO3:
      return CodeGenLevel::Aggressive;
  }
  return CodeGenLevel::Default;
}

}  // namespace

Result<std::unique_ptr<TargetPool>> TargetPool::create(const std::string& cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  // For the inline assembly that engines may generate.
  llvm::InitializeNativeTargetAsmParser();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return internal("LLVM does not know this host: " + llvm::toString(builder.takeError()));
  if (!builder->getTargetTriple().isOSBinFormatELF() ||
      builder->getTargetTriple().getArch() != llvm::Triple::x86_64) {
    return internal("only Linux on x86-64 is supported, this is " + builder->getTargetTriple().str());
  }
  if (!cpu.empty()) {
    builder->setCPU(cpu);
    builder->getFeatures() = llvm::SubtargetFeatures();
  }
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  auto layout = builder->getDefaultDataLayoutForTarget();
  if (!layout) return internal("no data layout: " + llvm::toString(layout.takeError()));
  return std::unique_ptr<TargetPool>(new TargetPool(std::move(*builder), *layout));
}

Result<std::unique_ptr<llvm::TargetMachine>> TargetPool::take(OptLevel level) {
  std::lock_guard lock(mutex_);
  auto& free = free_[static_cast<int>(level)];
  if (!free.empty()) {
    auto target = std::move(free.back());
    free.pop_back();
    return target;
  }
  builder_.setCodeGenOptLevel(code_level(level));
  auto target = builder_.createTargetMachine();
  if (!target) return internal("no target machine: " + llvm::toString(target.takeError()));
  return std::move(*target);
}

void TargetPool::put_back(OptLevel level, std::unique_ptr<llvm::TargetMachine> target) {
  std::lock_guard lock(mutex_);
  free_[static_cast<int>(level)].push_back(std::move(target));
}

}  // namespace tailor::jit
