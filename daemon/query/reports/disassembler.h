// Machine code of x86-64 as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tailor::query {

// One thread.
class Disassembler {
 public:
  // `code` was at `base`, and must outlive this.
  Disassembler(std::string_view code, std::uint64_t base);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // How long the instruction at that offset is; 1 where the bytes are no instruction. The offset must be one
  // of the code.
  std::size_t length_at(std::size_t offset);
  // The instruction in Intel's notation. Addresses within the code are offsets: "jnz +0x1f". Bytes that are
  // no instruction are ".byte 0x0f".
  std::string text_at(std::size_t offset);

 private:
  struct Decoder;
  std::string_view code_;
  std::uint64_t base_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace tailor::query
