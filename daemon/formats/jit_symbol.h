// Code that a process generated and told the world about in perf's conventions, not through an agent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tailor::formats {

// Where a native instruction of a symbol came from, by jitdump's debug information.
struct SourceLine {
  std::uint32_t offset = 0;  // from the symbol's address
  std::uint32_t line = 0;
  std::string file;
};

// One function of generated code.
struct JitSymbol {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::string name;                // as the runtime wrote it; hostile
  std::uint64_t timestamp_ns = 0;  // when it was loaded, by the dump's clock; 0: not said
  std::vector<std::uint8_t> code;  // empty: not said
  std::vector<SourceLine> lines;   // ordered by offset
  // Its call frame information, an .eh_frame that lies behind the code, at the next multiple of 8; empty: not
  // said.
  std::vector<std::byte> frames;
};

// What a perf map held. Every line is counted once.
struct JitSymbols {
  std::vector<JitSymbol> symbols;
  std::uint64_t malformed = 0;  // left out: sizes or addresses that cannot be
  bool cut = false;             // the file ended inside a line, as it does while it is being written
};

}  // namespace tailor::formats
