#include "compiler/llvm/sealed_module_state.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdlib>

namespace tailor::jit {
namespace {

constexpr const char* kVersionFlag = "Debug Info Version";

void drop_last_flag(llvm::Module& module) {
  llvm::NamedMDNode* flags = module.getModuleFlagsMetadata();
  llvm::SmallVector<llvm::MDNode*, 4> kept(flags->op_begin(), std::prev(flags->op_end()));
  flags->clearOperands();
  for (llvm::MDNode* flag : kept) flags->addOperand(flag);
  if (kept.empty()) module.eraseNamedMetadata(flags);
}

}  // namespace

SealedModule::SealedModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
SealedModule::SealedModule(SealedModule&&) noexcept = default;
SealedModule& SealedModule::operator=(SealedModule&&) noexcept = default;
SealedModule::~SealedModule() = default;

SealedModule SealedModule::clone() const {
  const bool versioned = state_->module->getModuleFlag(kVersionFlag) != nullptr;
  // Without the version a reader drops all locations. LLVM looks for other flags at every step, so as few as
  // possible stand there at other times.
  if (!versioned)
    state_->module->addModuleFlag(llvm::Module::Warning, kVersionFlag, llvm::DEBUG_METADATA_VERSION);
  llvm::SmallVector<char, 0> bitcode;
  llvm::BitcodeWriter writer(bitcode);
  writer.writeModule(*state_->module);
  writer.writeSymtab();
  writer.writeStrtab();
  if (!versioned) drop_last_flag(*state_->module);

  auto copy = std::make_unique<State>();
  copy->context = std::make_unique<llvm::LLVMContext>();
  llvm::MemoryBufferRef buffer(llvm::StringRef(bitcode.data(), bitcode.size()), "clone");
  auto module = llvm::parseBitcodeFile(buffer, *copy->context);
  if (!module) std::abort();  // our own bytes, just written
  copy->module = std::move(*module);
  if (!versioned) drop_last_flag(*copy->module);
  copy->first = state_->first;
  copy->count = state_->count;
  copy->adopted = state_->adopted;
  copy->tags = state_->tags;
  copy->tag_sections = state_->tag_sections;
  copy->lineage = state_->lineage;
  copy->component_tags = state_->component_tags;
  return SealedModule(std::move(copy));
}

ComponentId SealedModule::first_component() const {
  return state_->first;
}
std::uint32_t SealedModule::component_count() const {
  return state_->count;
}
std::uint32_t SealedModule::adopted_instructions() const {
  return state_->adopted;
}

}  // namespace tailor::jit
