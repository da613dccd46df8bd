#include "compiler/llvm/disassembler.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <mutex>

namespace tailor::jit {
namespace {

struct Dispose {
  void operator()(void* disassembler) const { LLVMDisasmDispose(disassembler); }
};

// "\tmovq\t%rax, %rbx" as "movq %rax, %rbx".
std::string tidy(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

std::string byte(unsigned char value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), ".byte 0x%02x", value);
  return text.data();
}

}  // namespace

std::vector<NativeInstruction> disassemble(std::string_view code, std::uint64_t base) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeDisassembler();
  });
  std::unique_ptr<void, Dispose> disassembler(
      LLVMCreateDisasm("x86_64-unknown-linux-gnu", nullptr, 0, nullptr, nullptr));
  if (disassembler != nullptr) {
    LLVMSetDisasmOptions(disassembler.get(),
                         LLVMDisassembler_Option_AsmPrinterVariant | LLVMDisassembler_Option_PrintImmHex);
  }
  std::vector<NativeInstruction> out;
  for (std::size_t at = 0; at < code.size();) {
    // The interface takes bytes that it does not change.
    auto* bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(code.data() + at));
    std::array<char, 256> text{};
    std::size_t size = 0;
    if (disassembler != nullptr) {
      size = LLVMDisasmInstruction(disassembler.get(), bytes, code.size() - at, base + at, text.data(),
                                   text.size());
    }
    const bool known = size != 0;
    if (!known) size = 1;
    out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size),
                   known ? tidy(text.data()) : byte(*bytes)});
    at += size;
  }
  return out;
}

}  // namespace tailor::jit
