#include "agent/jvm/frame_pops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace tailor::jvm {
namespace {

using Code = std::span<const std::uint8_t>;

// Reads instructions one after the other.
class Reader {
 public:
  Reader(Code code, std::size_t at) : code_(code), at_(at) {}

  std::size_t at() const { return at_; }
  // Whether these bytes are next; then it is behind them.
  bool take(std::initializer_list<std::uint8_t> bytes) {
    if (bytes.size() > code_.size() - at_ || !std::equal(bytes.begin(), bytes.end(), code_.begin() + at_))
      return false;
    at_ += bytes.size();
    return true;
  }
  bool skip(std::size_t bytes) {
    if (bytes > code_.size() - at_) return false;
    at_ += bytes;
    return true;
  }
  // What an instruction adds to the stack pointer, or takes: a byte or four.
  bool take_number(std::uint32_t number) {
    std::array<std::uint8_t, 4> bytes;
    std::memcpy(bytes.data(), &number, sizeof number);
    return take({bytes[0], bytes[1], bytes[2], bytes[3]});
  }

 private:
  Code code_;
  std::size_t at_;
};

// REX.W 83 or 81 with the operation, the stack pointer and a number. `modrm` is that of the operation.
bool take_stack_change(Reader& reader, std::uint8_t modrm, std::uint32_t number) {
  if (number < 128 && reader.take({0x48, 0x83, modrm, static_cast<std::uint8_t>(number)})) return true;
  return reader.take({0x48, 0x81, modrm}) && reader.take_number(number);
}

constexpr std::uint8_t kAdd = 0xC4, kSub = 0xEC, kPushBp = 0x55, kPopBp = 0x5D;

// `cmp disp(%r15), %rsp; ja slow` since JDK 16; `mov disp(%r15), %r10; test %eax, (%r10)` before.
bool take_poll(Reader& reader) {
  if (reader.take({0x49, 0x3B, 0xA7})) return reader.skip(4) && reader.take({0x0F, 0x87}) && reader.skip(4);
  if (reader.take({0x49, 0x3B, 0x67})) return reader.skip(1) && reader.take({0x0F, 0x87}) && reader.skip(4);
  if (reader.take({0x4D, 0x8B, 0x97})) return reader.skip(4) && reader.take({0x41, 0x85, 0x02});
  return true;
}

// Without the return address and rbp.
std::uint32_t locals(const NmethodFacts& facts) {
  constexpr std::uint32_t kWord = 8;
  return facts.frame_words < 2 ? 0 : (facts.frame_words - 2) * kWord;
}

}  // namespace

std::vector<FramePop> frame_pops_of(Code code, const NmethodFacts& facts) {
  std::vector<FramePop> pops;
  if (locals(facts) == 0) return pops;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const void* next = std::memchr(code.data() + i, 0x48, code.size() - i);
    if (next == nullptr) break;
    i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(next) - code.data());
    Reader reader(code, i);
    if (!take_stack_change(reader, kAdd, locals(facts))) continue;
    FramePop pop;
    pop.after_add = static_cast<std::uint32_t>(reader.at());
    if (!reader.take({kPopBp})) continue;
    pop.after_pop = static_cast<std::uint32_t>(reader.at());
    if (!take_poll(reader)) continue;
    if (!reader.take({0xC3})) continue;
    pop.end = static_cast<std::uint32_t>(reader.at());
    pops.push_back(pop);
    i = reader.at() - 1;
  }
  return pops;
}

std::uint32_t frame_push_of(Code code, const NmethodFacts& facts) {
  if (locals(facts) == 0 || facts.frame_complete > code.size()) return 0;
  // It ends where the frame is complete; what may stand before, as a look at the stack's end, is of any
  // length.
  for (std::uint32_t length : {5u, 8u}) {
    if (facts.frame_complete < length) continue;
    const std::uint32_t begin = facts.frame_complete - length;
    Reader reader(code.first(facts.frame_complete), begin);
    if (reader.take({kPushBp}) && take_stack_change(reader, kSub, locals(facts)) &&
        reader.at() == facts.frame_complete)
      return begin + 1;
  }
  return 0;
}

}  // namespace tailor::jvm
