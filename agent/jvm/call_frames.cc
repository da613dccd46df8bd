#include "agent/jvm/call_frames.h"

#include <string_view>

namespace tailor::jvm {
namespace {

// Registers and instructions as DWARF and the System V ABI number them.
constexpr char kBp = 6, kSp = 7, kReturnAddress = 16;
constexpr char kAdvance4 = 0x04, kDefCfa = 0x0c, kDefCfaOffset = 0x0e, kDefCfaExpression = 0x0f,
               kExpression = 0x10;
constexpr unsigned char kOffset = 0x80, kRestore = 0xC0;  // with the register in the lower bits
constexpr char kDeref = 0x06, kBreg6 = 0x76;

void add_word(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
}

void add_uleb(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// An entry with its length, padded.
void add_entry(std::string& out, std::string body) {
  constexpr std::size_t kAlignment = 8, kLength = 4;
  while ((body.size() + kLength) % kAlignment != 0) body += '\0';  // DW_CFA_nop
  add_word(out, body.size(), kLength);
  out += body;
}

// One common entry with the rules at a function's first instruction, one entry for the range.
std::string table(std::uint64_t base, std::uint64_t size, std::string_view instructions) {
  std::string common(4, '\0');  // the mark of a common entry
  common += '\1';               // version
  common.append("zR", 3);
  add_uleb(common, 1);  // code alignment
  common += '\x78';     // data alignment: -8
  common += kReturnAddress;
  add_uleb(common, 1);  // bytes of augmentation:
  common += '\0';       // addresses are absolute
  common += {kDefCfa, kSp, 8, static_cast<char>(kOffset | kReturnAddress), 1};
  std::string out;
  add_entry(out, std::move(common));
  std::string entry;
  add_word(entry, out.size() + 4, 4);  // back from here to the common entry
  add_word(entry, base, 8);
  add_word(entry, size, 8);
  add_uleb(entry, 0);
  entry += instructions;
  add_entry(out, std::move(entry));
  add_word(out, 0, 4);
  return out;
}

// Rules of one range after the other.
class Rules {
 public:
  // What follows holds from this offset on.
  void at(std::uint32_t offset) {
    if (offset <= offset_) return;
    text_ += kAdvance4;
    add_word(text_, offset - offset_, 4);
    offset_ = offset;
  }
  // The caller's frame lies this many bytes above the stack pointer, its rbp below the return address.
  void frame(std::uint64_t bytes) {
    text_ += kDefCfaOffset;
    add_uleb(text_, bytes);
    text_ += {static_cast<char>(kOffset | kBp), 2};
  }
  // rbp is the caller's again, and the return address on top of the stack.
  void no_frame() { text_ += {kDefCfaOffset, 8, static_cast<char>(kRestore | kBp)}; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::uint32_t offset_ = 0;
};

bool has_frame(std::uint32_t size, const NmethodFacts& facts) {
  constexpr std::uint32_t kMostWords = 1u << 20;
  return facts.frame_words >= 2 && facts.frame_words <= kMostWords && facts.frame_complete < size;
}

constexpr std::uint64_t kPushed = 16;  // return address and rbp

}  // namespace

std::string frames_of_fixed_size(std::uint64_t base, std::uint32_t size, const NmethodFacts& facts) {
  if (!has_frame(size, facts)) return {};
  Rules rules;
  rules.at(facts.frame_complete);
  rules.frame(std::uint64_t{facts.frame_words} * 8);
  return table(base, size, rules.text());
}

std::string frames_of_compiled(const CompiledCode& code) {
  if (!has_frame(code.size, code.facts)) return {};
  const std::uint64_t whole = std::uint64_t{code.facts.frame_words} * 8;
  Rules rules;
  if (code.frame_push != 0) {
    rules.at(code.frame_push);
    rules.frame(kPushed);
  }
  rules.at(code.facts.frame_complete);
  rules.frame(whole);
  for (const FramePop& pop : code.pops) {
    if (pop.after_add <= code.facts.frame_complete || pop.end >= code.size) continue;
    rules.at(pop.after_add);
    rules.frame(kPushed);
    rules.at(pop.after_pop);
    rules.no_frame();
    rules.at(pop.end);
    rules.frame(whole);
  }
  return table(code.base, code.size, rules.text());
}

std::string frames_without_frame(std::uint64_t base, std::uint32_t size) {
  return table(base, size, {});
}

std::string frames_of_interpreter(std::uint64_t base, std::uint32_t size) {
  // The caller's stack pointer at rbp - 8, its rbp at rbp, the return address at rbp + 8.
  const std::string rules = {
      kDefCfaExpression, 3, kBreg6, 0x78, kDeref, kExpression, kBp, 2, kBreg6, 0, kExpression,
      kReturnAddress,    2, kBreg6, 8};
  return table(base, size, rules);
}

}  // namespace tailor::jvm
