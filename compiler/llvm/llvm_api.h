// Where the interfaces of LLVM 16 and 19 differ: one name for both. What can be written so that both take it
// is written so, and is not here.
#pragma once

#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/AsmPrinterHandler.h>
#include <llvm/CodeGen/DebugHandlerBase.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/Support/CodeGen.h>

#include <memory>
#include <utility>

#if LLVM_VERSION_MAJOR != 16 && LLVM_VERSION_MAJOR != 19
#error "the adapter is made for LLVM 16 and 19"
#endif

namespace tailor::jit {

// Whether llvm.read_register and llvm.write_register take r15.
inline constexpr bool kNamesTagRegister = LLVM_VERSION_MAJOR >= 19;

#if LLVM_VERSION_MAJOR >= 19

using CodeGenLevel = llvm::CodeGenOptLevel;
inline constexpr auto kObjectFile = llvm::CodeGenFileType::ObjectFile;

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

inline void AddHandler(llvm::AsmPrinter& printer, std::unique_ptr<EmissionHandler> handler) {
  printer.addDebugHandler(std::move(handler));
}
template <typename Plugin, typename... Arguments>
auto MakePlugin(Arguments&&... arguments) {
  return std::make_shared<Plugin>(std::forward<Arguments>(arguments)...);
}
inline llvm::orc::ExecutorSymbolDef SymbolAt(const void* address, llvm::JITSymbolFlags flags) {
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

inline void AddHandler(llvm::AsmPrinter& printer, std::unique_ptr<EmissionHandler> handler) {
  printer.addAsmPrinterHandler({std::move(handler), "", "", "", ""});
}
template <typename Plugin, typename... Arguments>
auto MakePlugin(Arguments&&... arguments) {
  return std::make_unique<Plugin>(std::forward<Arguments>(arguments)...);
}
inline llvm::JITEvaluatedSymbol SymbolAt(const void* address, llvm::JITSymbolFlags flags) {
  return {llvm::pointerToJITTargetAddress(address), flags};
}

#endif

}  // namespace tailor::jit
