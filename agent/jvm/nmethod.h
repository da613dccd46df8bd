// What HotSpot itself knows of a piece of compiled code, read by the descriptions of its structures that
// libjvm.so exports for tools (gHotSpotVMStructs).
#pragma once

#include <cstdint>
#include <optional>

#include "agent/jvm/compiled_code.h"

namespace tailor::jvm {

class NmethodReader {
 public:
  // Looks libjvm.so's descriptions up. A JVM that lacks them, or says something else, gives no facts.
  NmethodReader();

  // Of the code in [begin, begin + size), which must stay as long as the call does (within JVMTI's callback
  // it does). Nothing where it is not found.
  std::optional<NmethodFacts> facts(std::uint64_t begin, std::uint32_t size) const;

 private:
  // Where `blob` is that of this code.
  std::optional<NmethodFacts> read_blob(const char* blob, std::uint64_t begin, std::uint64_t end) const;

  std::int64_t code_begin_ = -1, code_end_ = -1, frame_size_ = -1, frame_complete_ = -1;  // of CodeBlob
  std::int64_t level_ = -1, entry_bci_ = -1;                                              // of nmethod
};

}  // namespace tailor::jvm
