// Ends the building of a query module: numbers its lines, writes links and listing into the plan.
#pragma once

#include <memory>

#include "compiler/llvm/query_module.h"

namespace tailor::jit {

// As QueryModule::Seal().
Result<SealedModule> SealModule(tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                                const InstructionLog& log, std::unique_ptr<llvm::LLVMContext> context,
                                std::unique_ptr<llvm::Module> module);

// The tag under which shared code works for `task`; 0 without tags or for no task.
std::uint64_t TagOfTask(const tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                        ComponentId task);

}  // namespace tailor::jit
