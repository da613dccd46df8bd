#include "compiler/llvm/jit.h"

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/MemoryMapper.h>

#include <atomic>
#include <set>

#include "compiler/llvm/compiled_module_state.h"
#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/object_compiler.h"
#include "compiler/llvm/optimizer.h"
#include "compiler/llvm/stopwatch.h"
#include "compiler/llvm/target_pool.h"
#include "proto/base/errors.h"

namespace tailor::jit {
namespace {

namespace orc = llvm::orc;

// All generated code lies in few mappings of this size, so that its addresses are compact.
constexpr std::size_t kReservedBytes = std::size_t{64} << 20;

Error to_error(llvm::Error error) {
  return internal(llvm::toString(std::move(error)));
}

// Why a link failed is told to the session's error reporter, by the thread that waits for the link; the error
// that the lookup returns says only that it did.
thread_local std::string reported;

}  // namespace

struct Jit::State {
  std::unique_ptr<TargetPool> targets;
  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> linker;
  CodeCapture* capture = nullptr;           // owned by the linker
  orc::JITDylib* process = nullptr;         // symbols of the host
  std::atomic<std::uint64_t> libraries{0};  // ever made: their names

  ~State() {
    if (session != nullptr) llvm::consumeError(session->endSession());
  }

  Status set_up(const std::string& cpu);
  // Links and loads the object into `library`; `functions` are all that it defines.
  Status link(CompiledObject object, const std::vector<std::string>& functions, orc::JITDylib& library,
              LoadedCode& out);
  Result<orc::JITDylib*> new_library();
};

Status Jit::State::set_up(const std::string& cpu) {
  auto targets_or = TargetPool::create(cpu);
  if (!targets_or) return targets_or.error();
  targets = std::move(*targets_or);
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control) return to_error(control.takeError());
  session = std::make_unique<orc::ExecutionSession>(std::move(*control));
  session->setErrorReporter([](llvm::Error error) { reported += llvm::toString(std::move(error)) + "; "; });
  auto memory = orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(kReservedBytes);
  if (!memory) return to_error(memory.takeError());
  linker = std::make_unique<orc::ObjectLinkingLayer>(*session, std::move(*memory));
  if (llvm::Error error = add_unwind_tables(*linker, *session)) return to_error(std::move(error));
  auto listener = make_plugin<CodeCapture>();
  capture = listener.get();
  linker->addPlugin(std::move(listener));
  process = &session->createBareJITDylib("process");
  auto generator = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!generator) return to_error(generator.takeError());
  process->addGenerator(std::move(*generator));
  return Ok{};
}

Result<orc::JITDylib*> Jit::State::new_library() {
  auto library = session->createJITDylib("query" + std::to_string(libraries++));
  if (!library) return to_error(library.takeError());
  library->addToLinkOrder(*process);
  return &*library;
}

Status Jit::State::link(CompiledObject object, const std::vector<std::string>& functions,
                        orc::JITDylib& library, LoadedCode& out) {
  reported.clear();
  capture->expect(library, out);
  llvm::Error error = linker->add(library, std::move(object.object));
  if (!error) {
    // Looking up what was defined runs the linker and waits for it.
    orc::SymbolLookupSet names;
    for (const std::string& function : functions) names.add(session->intern(function));
    auto found = session->lookup(orc::makeJITDylibSearchOrder(&library), std::move(names));
    if (!found) error = found.takeError();
  }
  capture->forget(library);
  if (error) return internal(reported + llvm::toString(std::move(error)));
  return Ok{};
}

Jit::Jit(std::unique_ptr<State> state) : state_(std::move(state)) {}
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::create(const std::string& cpu) {
  auto state = std::make_unique<State>();
  if (auto status = state->set_up(cpu); !status) return status.error();
  return std::unique_ptr<Jit>(new Jit(std::move(state)));
}

Status Jit::define(const std::string& name, const void* address) {
  orc::SymbolMap symbols;
  symbols[state_->session->intern(name)] =
      symbol_at(address, llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
  if (auto error = state_->process->define(orc::absoluteSymbols(std::move(symbols)))) {
    return to_error(std::move(error));
  }
  return Ok{};
}

Result<std::unique_ptr<CompiledModule>> Jit::compile(SealedModule module, const CompileOptions& options) {
  auto target = state_->targets->take(options.level);
  if (!target) return target.error();
  SealedModule::State& sealed = module.state();
  sealed.module->setDataLayout(state_->targets->layout());
  set_triple(*sealed.module, **target);

  auto out = std::make_unique<CompiledModule::State>();
  out->level = options.level;
  std::uint64_t ticks = 0;  // of what follows
  ModuleLineage lineage;
  lineage.trial = options.trial;
  {
    TickAdd all(ticks);
    StopwatchAdd time(out->times.optimise);
    optimise(sealed, **target, options.level, lineage);
  }
  std::vector<std::string> functions;
  for (const llvm::Function& function : *sealed.module) {
    if (!function.isDeclaration() && function.hasExternalLinkage())
      functions.push_back(function.getName().str());
  }
  Result<CompiledObject> object = [&] {
    TickAdd all(ticks);
    StopwatchAdd time(out->times.codegen);
    return compile_object(sealed, **target, lineage);
  }();
  state_->targets->put_back(options.level, std::move(*target));
  if (!object) return object.error();
  out->rows = std::move(object->rows);
  const std::set<std::string> untagged = std::move(object->untagged);
  out->times.lineage = static_cast<double>(lineage.ticks) / static_cast<double>(ticks) *
                       (out->times.optimise + out->times.codegen);

  auto library = state_->new_library();
  if (!library) return library.error();
  Status linked = [&] {
    StopwatchAdd time(out->times.link);
    return state_->link(std::move(*object), functions, **library, out->loaded);
  }();
  auto unload = [session = state_->session.get(), library = *library] {
    llvm::consumeError(session->removeJITDylib(*library));
  };
  if (!linked) {
    unload();
    return linked.error();
  }
  out->unload = std::move(unload);
  for (Import& import : out->loaded.imports) import.untagged = untagged.contains(import.name);
  return std::make_unique<CompiledModule>(std::move(out));
}

}  // namespace tailor::jit
