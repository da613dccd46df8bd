// What HotSpot itself knows of a piece of compiled code, read by the descriptions of its structures that
// libjvm.so exports for tools (gHotSpotVMStructs).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "agent/jvm/compiled_code.h"
#include "agent/jvm/vm_structs.h"

namespace tailor::jvm {

class NmethodReader {
 public:
  // By libjvm.so's descriptions (vm_fields()). A JVM that lacks them, or says something else, gives no facts.
  explicit NmethodReader(std::span<const VmField> fields);

  // Of the code in [begin, begin + size), which must stay as long as the call does (within JVMTI's callback
  // it does). Nothing where it is not found.
  std::optional<NmethodFacts> facts(std::uint64_t begin, std::uint32_t size) const;

 private:
  // Bytes from the begin of what may be the blob of some code, at `address`.
  struct Bytes {
    const char* bytes;
    std::uint64_t address;
  };
  std::optional<NmethodFacts> read_blob(const Bytes& blob, std::uint64_t begin, std::uint64_t end) const;
  bool is_of(const Bytes& blob, std::uint64_t begin, std::uint64_t end) const;

  // A signed number in a blob: of as many bytes as this JVM says, which differ from one JDK to the next.
  struct Number {
    std::int64_t offset = -1;
    std::uint32_t bytes = 0;

    bool known() const { return offset >= 0; }
    std::int64_t in(const Bytes& blob) const;
  };
  static Number number_at(const VmField& field);

  // Of CodeBlob. It has two addresses, and since JDK 24 two offsets from its own in their place.
  std::int64_t code_begin_ = -1, code_end_ = -1, code_offset_ = -1, data_offset_ = -1;
  Number frame_size_, frame_complete_;
  Number level_, entry_bci_;  // of nmethod
};

}  // namespace tailor::jvm
