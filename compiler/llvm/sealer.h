// Ends the building of a query module: numbers its lines, writes links and listing into the plan.
#pragma once

#include <memory>

#include "compiler/llvm/query_module.h"

namespace tailor::jit {

struct SealerInput {
  tagging::DictionaryBuilder& plan;
  const QueryModuleOptions& options;
  const InstructionLog& log;
  const llvm::DenseMap<const llvm::Function*, FunctionTags>& functions;
};

// As QueryModule::Seal().
Result<SealedModule> SealModule(const SealerInput& input, std::unique_ptr<llvm::LLVMContext> context,
                                std::unique_ptr<llvm::Module> module);

// Whether tags are written at section entries rather than around shared calls.
bool TagsSections(const QueryModuleOptions& options);

// The tag under which shared code works for `task`; 0 without tags or for no task.
std::uint64_t TagOfTask(const tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                        ComponentId task);

}  // namespace tailor::jit
