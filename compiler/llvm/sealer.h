// Ends the building of a query module: numbers its lines, writes links and listing into the plan.
#pragma once

#include <memory>

#include "compiler/llvm/instruction_log.h"
#include "compiler/llvm/query_module_options.h"
#include "compiler/llvm/sealed_module_state.h"
#include "compiler/tagging/dictionary_builder.h"
#include "proto/base/result.h"

namespace tailor::jit {

struct SealerInput {
  tagging::DictionaryBuilder& plan;
  const QueryModuleOptions& options;
  const InstructionLog& log;
  const llvm::DenseMap<const llvm::Function*, FunctionTags>& functions;
};

// Gives every instruction of the module its id, writes links and listing into the plan, and into `state` what
// the compiler needs to know beside the module.
Status number_module(const SealerInput& input, llvm::Module& module, SealedModule::State& state);

// As QueryModule::seal().
Result<SealedModule> seal_module(const SealerInput& input, std::unique_ptr<llvm::LLVMContext> context,
                                 std::unique_ptr<llvm::Module> module);

// Whether tags are written at section entries rather than around shared calls.
bool tags_sections(const QueryModuleOptions& options);

// The tag under which shared code works for `task`; 0 without tags or for no task.
std::uint64_t tag_of_task(const tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                          ComponentId task);

}  // namespace tailor::jit
