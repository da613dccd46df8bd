// Lineage in an engine's own JIT: in LLJIT, in ORC layers that the engine stacks itself, or in MCJIT.
//
//   // Its addresses are known then, and it has not run.
//   auto loaded = [](const LoadedObject& object) {
//     const CodeId id = tailor_code_new();
//     const std::string code = object.code_object(id, "O2");
//     tailor_code_load(id, code.data(), code.size());
//     return id;
//   };
//   EngineLineage lineage({.loaded = loaded, .removed = [](CodeId id) { tailor_code_unload(id); }});
//   auto compiler = [&](auto target) { return lineage.make_compiler(std::move(target)); };
//   auto jit = llvm::orc::LLJITBuilder().setCompileFunctionCreator(compiler).create();
//   lineage.listen_to((*jit)->getObjLinkingLayer());
//   lineage.add(engine_module, plan_id);               // before the module goes to the JIT
//
// A cache keeps what `compiled` is given, and the plan. When it has an object again:
//
//   lineage.expect(*buffer, kept_lineage, plan_id);    // before the object goes to the JIT
//
// MCJIT compiles by itself. An engine on it compiles with EngineModule::emit() instead, gives the object to
// expect() and then to MCJIT's addObjectFile(); mcjit_listener() below does the rest.
#pragma once

#include <llvm/ExecutionEngine/JITEventListener.h>
#include <llvm/ExecutionEngine/Orc/IRCompileLayer.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/Layer.h>

#include <functional>
#include <memory>
#include <string>

#include "compiler/llvm/engine_module.h"
#include "compiler/llvm/loaded_code.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::jit {

struct LoadedObject {
  std::string name;  // of the object
  PlanId plan = 0;
  LoadedCode loaded;
  tailor::v1::RowTable rows;

  // The serialised tailor.v1.CodeObject for tailor_code_load().
  std::string code_object(CodeId id, const std::string& tier) const {
    return make_code_object(loaded, id, plan, tier, rows).SerializeAsString();
  }
};

// What the engine is told. The threads that compile and link call these functions, several at once.
struct EngineEvents {
  // An object was linked, and nothing of it has run. Returns the id that the engine gave to the code.
  std::function<CodeId(const LoadedObject&)> loaded;
  // The memory of this code is about to be given back.
  std::function<void(CodeId)> removed = nullptr;
  // An object was compiled: what a cache keeps.
  std::function<void(const EngineObject&)> compiled = nullptr;
};

// Thread-safe. Outlives the JIT that it listens to.
class EngineLineage {
 public:
  explicit EngineLineage(EngineEvents events);
  ~EngineLineage();
  EngineLineage(const EngineLineage&) = delete;
  EngineLineage& operator=(const EngineLineage&) = delete;

  // The module of `lineage`, for which begin() was called, is compiled with its lineage when it gets to the
  // compiler. Errors: begin() was not called, or failed.
  Status add(std::shared_ptr<EngineModule> lineage, PlanId plan);
  // An object that was kept, or that emit() made, will be linked. `kept`: EngineObject::lineage. Errors:
  // `kept` is damaged or of another object; another object of this name is on its way.
  Status expect(llvm::MemoryBufferRef object, const std::string& kept, PlanId plan);

  // Modules that were not added are compiled as LLVM does. So are copies of modules: they have no lineage.
  std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler> make_compiler(
      llvm::orc::JITTargetMachineBuilder target);
  // Listens to an ObjectLinkingLayer or RTDyldObjectLinkingLayer. The latter lets waiting threads go before
  // it tells anybody, so the first samples of its code may be unattributed. Errors: any other layer.
  Status listen_to(llvm::orc::ObjectLayer& layer);

  // For llvm::ExecutionEngine::RegisterJITEventListener(). MCJIT tells of objects before it relocates them:
  // call mcjit_finalized() after each finalizeObject(), before the code runs.
  llvm::JITEventListener& mcjit_listener();
  void mcjit_finalized();

 private:
  struct State;
  class Compiler;
  class Plugin;
  class RuntimeDyldListener;
  std::shared_ptr<State> state_;
  std::unique_ptr<RuntimeDyldListener> rtdyld_, mcjit_;
};

}  // namespace tailor::jit
