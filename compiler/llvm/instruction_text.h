// Writes IR in LLVM's notation, an order of magnitude faster than LLVM prints it: an engine waits for the
// listing of every query before the query runs.
//
// Differs from LLVM's text where that refers to tables that the listing does not have: groups of attributes
// (" #1" after a call) are left out, and metadata that is empty or names a register is written out.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/ModuleSlotTracker.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace llvm {
class BasicBlock;
class CallInst;
class Function;
class Instruction;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace tailor::jit {

// What is appended to without a call for each piece.
class TextBuffer {
 public:
  explicit TextBuffer(std::size_t capacity) : text_(new char[capacity]), capacity_(capacity) {}

  std::size_t size() const { return size_; }
  void resize(std::size_t size) { size_ = size; }  // shorter only
  TextBuffer& operator+=(char c) {
    *room(1) = c;
    ++size_;
    return *this;
  }
  TextBuffer& operator+=(llvm::StringRef piece) {
    char* to = room(piece.size());
    // Most are names: shorter than what a call of memcpy is worth.
    if (piece.size() <= kShort) {
      for (std::size_t i = 0; i < piece.size(); ++i) to[i] = piece[i];
    } else {
      std::memcpy(to, piece.data(), piece.size());
    }
    size_ += piece.size();
    return *this;
  }
  // A literal.
  template <std::size_t N>
  TextBuffer& operator+=(const char (&piece)[N]) {
    std::memcpy(room(N - 1), piece, N - 1);
    size_ += N - 1;
    return *this;
  }
  void put_number(std::int64_t number) {
    char* to = room(kDigits);
    size_ += static_cast<std::size_t>(std::to_chars(to, to + kDigits, number).ptr - to);
  }
  llvm::StringRef text() const { return {text_.get(), size_}; }

 private:
  static constexpr std::size_t kShort = 16;
  static constexpr std::size_t kDigits = 24;

  // The end, with this many bytes behind it.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return text_.get() + size_;
  }
  void grow(std::size_t more) {
    capacity_ = 2 * capacity_ + more;
    std::unique_ptr<char[]> larger(new char[capacity_]);
    std::memcpy(larger.get(), text_.get(), size_);
    text_ = std::move(larger);
  }

  std::unique_ptr<char[]> text_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

// Not thread-safe. The module and the text outlive it, and the module must not change meanwhile.
class InstructionText {
 public:
  InstructionText(const llvm::Module& module, TextBuffer& out) : module_(module), out_(out) {}

  // Numbers the values of `function` that have no names. Before anything else, for each function.
  void begin(const llvm::Function& function);

  // Appends one line without its end: what defines it, two spaces in front of an instruction, a block's name
  // and a colon.
  void put_function();
  void put_block(const llvm::BasicBlock& block);
  void put_instruction(const llvm::Instruction& instruction);

 private:
  bool put_known(const llvm::Instruction& instruction);
  bool put_attached(const llvm::Instruction& instruction);
  bool put_call(const llvm::CallInst& call);
  void put_by_llvm(const llvm::Instruction& instruction);
  void put_operands(const llvm::Instruction& instruction, bool all_types);
  void put_operand(const llvm::Value* value, bool with_type);
  void put_operand_by_llvm(const llvm::Value& value);
  void put_metadata(const llvm::Value* value);
  void put_indices(llvm::ArrayRef<unsigned> indices);
  void put_name(char sigil, llvm::StringRef name);
  void put_type(llvm::Type* type);
  llvm::ModuleSlotTracker& slots();

  const llvm::Module& module_;
  TextBuffer& out_;
  const llvm::Function* function_ = nullptr;
  llvm::DenseMap<const llvm::Value*, unsigned> numbers_;  // of values without names
  llvm::SmallVector<llvm::StringRef, 0> kinds_;           // of metadata, once one is needed
  std::optional<llvm::ModuleSlotTracker> slots_;          // once LLVM's printer is needed
  bool slots_of_function_ = false;                        // they are those of function_
};

}  // namespace tailor::jit
