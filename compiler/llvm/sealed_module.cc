#include "compiler/llvm/sealed_module.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdlib>

#include "compiler/llvm/sealed_module_state.h"

namespace tailor::jit {

SealedModule::SealedModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
SealedModule::SealedModule(SealedModule&&) noexcept = default;
SealedModule& SealedModule::operator=(SealedModule&&) noexcept = default;
SealedModule::~SealedModule() = default;

SealedModule SealedModule::Clone() const {
  llvm::SmallVector<char, 0> bitcode;
  llvm::BitcodeWriter writer(bitcode);
  writer.writeModule(*state_->module);
  writer.writeSymtab();
  writer.writeStrtab();

  auto copy = std::make_unique<State>();
  copy->context = std::make_unique<llvm::LLVMContext>();
  llvm::MemoryBufferRef buffer(llvm::StringRef(bitcode.data(), bitcode.size()), "clone");
  auto module = llvm::parseBitcodeFile(buffer, *copy->context);
  if (!module) std::abort();  // our own bytes, just written
  copy->module = std::move(*module);
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
