// jitdump: the binary format in which JIT compilers hand their code to perf, with times, machine code, source
// lines and call frame information (Linux, tools/perf/Documentation/jitdump-specification.txt, version 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/formats/jit_symbol.h"
#include "daemon/formats/perf_order.h"
#include "proto/base/result.h"

namespace tailor::formats {

// An entry of seventeen bytes may name a file with four thousand.
inline constexpr std::size_t kMaxJitLineBytes = std::size_t{256} << 20;
// A million names of four thousand bytes would be four gigabytes.
inline constexpr std::size_t kMaxJitNameBytes = std::size_t{256} << 20;
// Call frame information of one function, and of all.
inline constexpr std::size_t kMaxJitFrames = std::size_t{64} << 10;
inline constexpr std::size_t kMaxJitFrameBytes = std::size_t{64} << 20;

// Reads a dump piece by piece, as its writer goes on with it. Sans I/O. One thread.
class JitDumpParser {
 public:
  // Takes the bytes that follow those of the calls before, in pieces of any size. An error, for ever, only if
  // the file is no jitdump of version 1, of either byte order. A record that does not fit its own
  // sizes is counted and passed over, and so are lines beyond kMaxJitLineBytes of memory and functions
  // beyond kMaxJitNameBytes of names. Call frame information that is too large is left out the same way.
  Status feed(std::span<const std::byte> bytes);

  // The symbols since the last call, in the order of the file. A move is the symbol again at its new address,
  // without its code.
  std::vector<JitSymbol> take();
  std::size_t waiting_symbols() const { return fresh_.size(); }  // for take()

  bool has_header() const { return has_header_; }
  std::uint32_t pid() const { return pid_; }               // as the process sees itself
  bool tsc_timestamps() const { return tsc_timestamps_; }  // raw TSC values, else CLOCK_MONOTONIC ns
  std::uint64_t malformed() const { return malformed_; }   // records left out
  // Bytes of memory that it holds, about: names and lines of functions may be asked for until the end.
  std::size_t memory() const;
  bool cut() const { return !waiting_.empty() || skip_ > 0; }  // the bytes so far end inside a record

 private:
  struct Known {
    std::string name;
    std::uint64_t size = 0;
    std::vector<SourceLine> lines;
    std::vector<std::byte> frames;
  };

  Status header();
  void records();
  void record(std::uint32_t id, std::uint64_t timestamp, std::span<const std::byte> body);
  bool load(std::uint64_t timestamp, std::span<const std::byte> body);
  bool move(std::uint64_t timestamp, std::span<const std::byte> body);
  bool debug_info(std::span<const std::byte> body);
  bool unwinding_info(std::span<const std::byte> body);
  bool full() const;

  std::vector<std::byte> waiting_;  // the beginning of what has not come whole
  std::uint64_t skip_ = 0;          // bytes still to be passed over
  bool has_header_ = false, stopped_ = false;
  ByteOrder order_ = ByteOrder::kOurs;
  bool foreign_code_ = false;  // of a machine whose instructions nobody here reads: it is not kept
  std::uint32_t pid_ = 0;
  bool tsc_timestamps_ = false;
  std::uint64_t malformed_ = 0;
  std::size_t symbols_ = 0;     // ever
  std::size_t line_bytes_ = 0;  // of memory, of all lines ever
  std::size_t name_bytes_ = 0;  // of all names ever
  std::size_t frame_bytes_ = 0;
  std::vector<std::byte> frames_;  // of the code that comes next
  std::vector<JitSymbol> fresh_;
  std::unordered_map<std::uint64_t, Known> by_index_;
  std::unordered_map<std::uint64_t, std::vector<SourceLine>> lines_;  // by address, until their code comes
};

}  // namespace tailor::formats
