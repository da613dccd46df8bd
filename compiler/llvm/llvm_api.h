// Where the interfaces of LLVM 16, 19 and 22 differ: one name for all. Code that all of them
// take as it is needs no name here.
#pragma once

#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/AsmPrinterHandler.h>
#include <llvm/CodeGen/DebugHandlerBase.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCObjectStreamer.h>
#include <llvm/MC/MCSymbol.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Analysis/RuntimeLibcallInfo.h>
#include <llvm/CodeGen/CodeGenTargetMachineImpl.h>
#include <llvm/ExecutionEngine/Orc/EHFrameRegistrationPlugin.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#else
#include <llvm/MC/MCFragment.h>
#endif

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#if LLVM_VERSION_MAJOR != 16 && LLVM_VERSION_MAJOR != 19 && LLVM_VERSION_MAJOR != 22
#error "the adapter is made for LLVM 16, 19 and 22"
#endif

namespace tailor::jit {

// Whether llvm.read_register and llvm.write_register take r15.
inline constexpr bool kNamesTagRegister = LLVM_VERSION_MAJOR >= 19;

#if LLVM_VERSION_MAJOR >= 22

using TargetMachineImpl = llvm::CodeGenTargetMachineImpl;

class EmissionHandler : public llvm::AsmPrinterHandler {
 public:
  void beginFunction(const llvm::MachineFunction*) override {}
  void endFunction(const llvm::MachineFunction*) override {}

 protected:
  explicit EmissionHandler(llvm::AsmPrinter&) {}
};

inline void add_handler(llvm::AsmPrinter& printer, std::unique_ptr<EmissionHandler> handler) {
  printer.addAsmPrinterHandler(std::move(handler));
}

// The bytes between `base` and where the next instruction goes, if nothing that the assembler decides the
// size of lies in between.
inline std::optional<std::uint64_t> bytes_since(const llvm::MCSymbol& base,
                                                const llvm::MCObjectStreamer& out) {
  const llvm::MCFragment* fragment = out.getCurrentFragment();
  if (fragment == nullptr || base.getFragment() != fragment) return std::nullopt;
  return fragment->getFixedSize() - base.getOffset();
}

// Says which functions of the C library exist. Without it, LLVM makes loops of copies that would be calls of
// memcpy.
inline void add_runtime_functions(llvm::legacy::PassManager& passes, const llvm::TargetMachine& target) {
  const llvm::TargetOptions& options = target.Options;
  passes.add(new llvm::RuntimeLibraryInfoWrapper(target.getTargetTriple(), options.ExceptionModel,
                                                 options.FloatABIType, options.EABIVersion,
                                                 options.MCOptions.getABIName(), options.VecLib));
}

inline void set_triple(llvm::Module& module, const llvm::TargetMachine& target) {
  module.setTargetTriple(target.getTargetTriple());
}
inline std::string name_of(const llvm::jitlink::Symbol& symbol) {
  return (*symbol.getName()).str();
}
inline llvm::Error add_unwind_tables(llvm::orc::ObjectLinkingLayer& linker,
                                     llvm::orc::ExecutionSession& session) {
  auto plugin = llvm::orc::EHFrameRegistrationPlugin::Create(session);
  if (!plugin) return plugin.takeError();
  linker.addPlugin(std::move(*plugin));
  return llvm::Error::success();
}

#else

using TargetMachineImpl = llvm::LLVMTargetMachine;

inline std::optional<std::uint64_t> bytes_since(const llvm::MCSymbol& base,
                                                const llvm::MCObjectStreamer& out) {
  const auto* fragment = llvm::dyn_cast_or_null<llvm::MCDataFragment>(out.getCurrentFragment());
  if (fragment == nullptr || base.getFragment() != fragment) return std::nullopt;
  return fragment->getContents().size() - base.getOffset();
}

inline void add_runtime_functions(llvm::legacy::PassManager&, const llvm::TargetMachine&) {}

inline void set_triple(llvm::Module& module, const llvm::TargetMachine& target) {
  module.setTargetTriple(target.getTargetTriple().str());
}
inline std::string name_of(const llvm::jitlink::Symbol& symbol) {
  return symbol.getName().str();
}

#endif

#if LLVM_VERSION_MAJOR >= 19

using CodeGenLevel = llvm::CodeGenOptLevel;
inline constexpr auto kObjectFile = llvm::CodeGenFileType::ObjectFile;

#if LLVM_VERSION_MAJOR < 22
// Listens to the emission of instructions. A handler of debug information, because no other is told of them;
// there is none, so its base has nothing to do.
class EmissionHandler : public llvm::DebugHandlerBase {
 public:
  void beginModule(llvm::Module*) override {}
  void endInstruction() override {}

 protected:
  explicit EmissionHandler(llvm::AsmPrinter& printer) : DebugHandlerBase(&printer) { Asm = nullptr; }

 private:
  void beginFunctionImpl(const llvm::MachineFunction*) override {}
  void endFunctionImpl(const llvm::MachineFunction*) override {}
};

inline void add_handler(llvm::AsmPrinter& printer, std::unique_ptr<EmissionHandler> handler) {
  printer.addDebugHandler(std::move(handler));
}
#endif
template <typename Plugin, typename... Arguments>
auto make_plugin(Arguments&&... arguments) {
  return std::make_shared<Plugin>(std::forward<Arguments>(arguments)...);
}
inline llvm::orc::ExecutorSymbolDef symbol_at(const void* address, llvm::JITSymbolFlags flags) {
  return {llvm::orc::ExecutorAddr::fromPtr(address), flags};
}

#else

using CodeGenLevel = llvm::CodeGenOpt::Level;
inline constexpr auto kObjectFile = llvm::CGFT_ObjectFile;

// A handler had to take part in everything.
class EmissionHandler : public llvm::AsmPrinterHandler {
 public:
  void setSymbolSize(const llvm::MCSymbol*, std::uint64_t) override {}
  void beginFunction(const llvm::MachineFunction*) override {}
  void endFunction(const llvm::MachineFunction*) override {}
  void endInstruction() override {}

 protected:
  explicit EmissionHandler(llvm::AsmPrinter&) {}
};

inline void add_handler(llvm::AsmPrinter& printer, std::unique_ptr<EmissionHandler> handler) {
  printer.addAsmPrinterHandler({std::move(handler), "", "", "", ""});
}
template <typename Plugin, typename... Arguments>
auto make_plugin(Arguments&&... arguments) {
  return std::make_unique<Plugin>(std::forward<Arguments>(arguments)...);
}
inline llvm::JITEvaluatedSymbol symbol_at(const void* address, llvm::JITSymbolFlags flags) {
  return {llvm::pointerToJITTargetAddress(address), flags};
}

#endif

#if LLVM_VERSION_MAJOR < 22
inline llvm::Error add_unwind_tables(llvm::orc::ObjectLinkingLayer& linker,
                                     llvm::orc::ExecutionSession& session) {
  linker.addPlugin(make_plugin<llvm::orc::EHFrameRegistrationPlugin>(
      session, std::make_unique<llvm::jitlink::InProcessEHFrameRegistrar>()));
  return llvm::Error::success();
}
#endif

}  // namespace tailor::jit
