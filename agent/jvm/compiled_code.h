// What a JVM says of one piece of compiled code, taken out of JVMTI's callback: plain values that outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tailor::jvm {

// A Java method as it is shown: "java.util.HashMap.get", and the file that its class was compiled from.
struct MethodText {
  std::string name;
  std::string class_name;  // "java.util.HashMap"
  std::string file;        // "" if the class does not say
  std::uint64_t unit = 0;  // the generated class that it is of (Spark::add_unit), 0: of none
  std::string role;        // role_of_class()
};

// One frame of a stack of inlined methods.
struct InlineFrame {
  std::uint32_t method = 0;  // into CompiledCode::methods
  std::int32_t line = 0;     // of its file, 0: not known
};

// The frames that hold up to `end`: HotSpot's description of a program counter ends its range.
struct PcState {
  std::uint32_t end = 0;  // offset of the last byte at which an instruction of this state begins
  std::uint32_t first_frame = 0, frames = 0;  // into CompiledCode::frames, innermost first
};

// What HotSpot keeps beside the code; 0 and -1 where this JVM does not tell.
struct NmethodFacts {
  int level = -1;                    // 1 to 3: C1; 4: C2
  bool osr = false;                  // entered in the middle of a loop
  std::uint32_t frame_words = 0;     // size of the frame with the return address, in words of 8 bytes
  std::uint32_t frame_complete = 0;  // offset of the first instruction with a complete frame
};

// Offsets in code that takes down its frame: behind the addition to the stack pointer, behind the `pop %rbp`,
// and behind the `ret`.
struct FramePop {
  std::uint32_t after_add = 0, after_pop = 0, end = 0;
};

struct CompiledCode {
  std::uint64_t id = 0;     // the agent's, of the code object
  std::uint64_t since = 0;  // rdtsc: it can have been there since then
  std::uint64_t base = 0;
  std::uint32_t size = 0;
  // The JVM was asked for all it knows before it compiled this; else it knows its lines at safepoints only.
  bool detailed = true;
  NmethodFacts facts;
  std::uint32_t frame_push = 0;     // offset of the `sub` behind the first `push %rbp`, 0: none
  std::vector<FramePop> pops;       // by offset
  std::uint64_t unit = 0;           // of its first method that has one: 0 for code without any
  std::vector<MethodText> methods;  // each once; the first is the one that was compiled
  std::vector<InlineFrame> frames;
  std::vector<PcState> states;  // ends grow

  // About what it takes in memory.
  std::size_t bytes() const {
    std::size_t sum = sizeof(*this) + frames.size() * sizeof(InlineFrame) + states.size() * sizeof(PcState) +
                      pops.size() * sizeof(FramePop);
    for (const MethodText& each : methods)
      sum += sizeof(each) + each.name.size() + each.class_name.size() + each.file.size();
    return sum;
  }
};

// "C1, tier 3", "C2", "C2, OSR" ...; "compiled" where the JVM does not tell.
std::string tier_of(const NmethodFacts& facts);

}  // namespace tailor::jvm
