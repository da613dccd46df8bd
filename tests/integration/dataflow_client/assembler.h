// The few x86-64 instructions that the emitter needs (Intel 64 manual, volume 2, chapter 2).
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace flow {

enum Register : std::uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };
enum Vector : std::uint8_t { xmm0, xmm1, xmm2 };

// [base + index * scale + displacement]; no index where scale is 0.
struct Memory {
  Register base;
  std::int8_t displacement = 0;
  Register index = rax;
  std::uint8_t scale = 0;
};

class Assembler {
 public:
  const std::vector<std::uint8_t>& code() const { return code_; }
  std::uint32_t here() const { return static_cast<std::uint32_t>(code_.size()); }

  void bytes(std::initializer_list<std::uint8_t> bytes) { code_.insert(code_.end(), bytes); }
  void push(Register r) { r < r8 ? bytes({byte(0x50 + r)}) : bytes({0x41, byte(0x50 + (r & 7))}); }
  void pop(Register r) { r < r8 ? bytes({byte(0x58 + r)}) : bytes({0x41, byte(0x58 + (r & 7))}); }
  void move(Register to, Register from) { bytes({rex(from, to), 0x89, direct(from, to)}); }
  void move(Register to, std::uint64_t value) {
    bytes({rex(0, to), byte(0xB8 + (to & 7))});
    for (int i = 0; i < 8; ++i) bytes({byte(value >> 8 * i)});
  }
  void load(Register to, Memory m) { memory(0, {0x8B}, to, m, true); }
  void load32(Register to, Memory m) { memory(0, {0x8B}, to, m, false); }
  void store(Memory m, Register from) { memory(0, {0x89}, from, m, true); }
  void address(Register to, Memory m) { memory(0, {0x8D}, to, m, true); }
  void store_zero(Memory m) { memory(0, {0xC7}, 0, m, true), bytes({0, 0, 0, 0}); }
  void clear(Register r) { bytes({rex(r, r), 0x31, direct(r, r)}); }
  void increment(Register r) { bytes({rex(0, r), 0xFF, direct(0, r)}); }
  void subtract(Register to, Register other) { bytes({rex(other, to), 0x29, direct(other, to)}); }
  void compare(Register a, Register b) { bytes({rex(b, a), 0x39, direct(b, a)}); }
  void compare(Register a, Memory m) { memory(0, {0x3B}, a, m, true); }
  void clear_sign(Register r) { bytes({rex(0, r), 0x0F, 0xBA, direct(6, r), 63}); }
  void move(Vector to, Register from) { bytes({0x66, rex(to, from), 0x0F, 0x6E, direct(to, from)}); }
  void move(Register to, Vector from) { bytes({0x66, rex(from, to), 0x0F, 0x7E, direct(from, to)}); }
  void load(Vector to, Memory m) { memory(0xF2, {0x0F, 0x10}, to, m, false); }
  void store(Memory m, Vector from) { memory(0xF2, {0x0F, 0x11}, from, m, false); }
  void add(Vector to, Vector other) { bytes({0xF2, 0x0F, 0x58, direct(to, other)}); }
  void multiply(Vector to, Vector other) { bytes({0xF2, 0x0F, 0x59, direct(to, other)}); }
  void divide(Vector to, Vector other) { bytes({0xF2, 0x0F, 0x5E, direct(to, other)}); }
  void subtract(Vector to, Memory m) { memory(0xF2, {0x0F, 0x5C}, to, m, false); }
  void convert(Vector to, Register from) { bytes({0xF2, rex(to, from), 0x0F, 0x2A, direct(to, from)}); }
  void call(Register r) { bytes({0xFF, direct(2, r)}); }  // of the first eight

  // Jumps have 32-bit distances. The forward one returns what place() needs to know where it goes.
  std::uint32_t jump_if_not_below() { return bytes({0x0F, 0x83, 0, 0, 0, 0}), here(); }
  void place(std::uint32_t jump) { patch(jump, here()); }
  void jump(std::uint32_t target) { bytes({0xE9, 0, 0, 0, 0}), patch(here(), target); }

 private:
  template <typename T>
  static std::uint8_t byte(T value) {
    return static_cast<std::uint8_t>(value);
  }
  static std::uint8_t rex(unsigned reg, unsigned rm) { return byte(0x48 | (reg >> 3) << 2 | rm >> 3); }
  static std::uint8_t direct(unsigned reg, unsigned rm) { return byte(0xC0 | (reg & 7) << 3 | (rm & 7)); }
  void patch(std::uint32_t end_of_jump, std::uint32_t target) {
    const std::uint32_t distance = target - end_of_jump;
    std::memcpy(&code_[end_of_jump - 4], &distance, 4);
  }
  // A displacement of 8 bits always, so that rbp and r13 are bases like others; rsp and r12 are none.
  void memory(std::uint8_t prefix, std::initializer_list<std::uint8_t> opcode, unsigned reg, Memory m,
              bool wide) {
    if (prefix != 0) bytes({prefix});
    bytes({byte(0x40 | wide << 3 | (reg >> 3) << 2 | (m.scale != 0 ? m.index >> 3 : 0) << 1 | m.base >> 3)});
    bytes(opcode);
    bytes({byte(0x40 | (reg & 7) << 3 | (m.scale != 0 ? 4 : m.base & 7))});
    if (m.scale != 0) {
      const unsigned log = m.scale == 8 ? 3 : 2;
      bytes({byte(log << 6 | (m.index & 7) << 3 | (m.base & 7))});
    }
    bytes({byte(m.displacement)});
  }

  std::vector<std::uint8_t> code_;
};

}  // namespace flow
