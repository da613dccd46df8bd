// Encoding of AgentMessages with libprotozero, straight into memory that somebody else has reserved.
// Field numbers are those of proto/tailor/v1/registration.proto. Everything here throws std::length_error if
// the memory is too small; the bounds below make sure that it is not, and callers still catch.
#pragma once

#include <tailor/agent.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <protozero/buffer_fixed.hpp>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string_view>

#include "agent/message.h"

namespace tailor::agent {

// Most bytes of a message without its strings: tsc, body header and up to ten integers.
inline constexpr std::size_t kFixedBound = 192;
// Longer strings are cut.
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = 1024 * 1024;
inline constexpr std::size_t kMaxLabels = 64;

// NULL is the empty string; cut to `limit` bytes.
inline std::string_view View(const char* text, std::size_t limit) noexcept {
  return text ? std::string_view(text, ::strnlen(text, limit)) : std::string_view();
}

class Encoder {
 public:
  using Buffer = protozero::fixed_size_buffer_adaptor;
  using Writer = protozero::basic_pbf_writer<Buffer>;

  explicit Encoder(std::span<char> memory) : buffer_(memory.data(), memory.size()), root_(buffer_) {}

  std::size_t size() const { return buffer_.size(); }
  std::span<const char> bytes() const { return {buffer_.data(), buffer_.size()}; }
  Writer& root() { return root_; }

  // A protobuf string. Protobuf strings are UTF-8, and a receiver drops a whole message for one byte that is
  // not; names come from users' tables and may be anything, so such bytes are sent as '?'.
  void Text(Writer& writer, std::uint32_t field, std::string_view text);

 private:
  Buffer buffer_;
  Writer root_;
};

// Writes `tsc`, then the body of this kind through f(Writer& body).
template <typename F>
void EncodeMessage(Encoder& encoder, MessageKind kind, std::uint64_t tsc, F f) {
  encoder.root().add_uint64(1, tsc);
  std::size_t before = encoder.size();
  {
    Encoder::Writer body(encoder.root(), static_cast<std::uint32_t>(kind));
    f(body);
  }
  // A body without fields is still a body; the writer takes an empty one back.
  if (encoder.size() == before) encoder.root().add_message(static_cast<std::uint32_t>(kind), "", 0);
}

struct HelloFields {
  std::string_view engine_name, engine_version;
  std::uint32_t pid;
  std::uint64_t tag_key;
  std::uint32_t tag_strategy;
  std::span<const std::uint8_t, 16> session;
  std::int64_t tag_slot_offset;  // 0: not told
};
void EncodeHello(Encoder& encoder, Encoder::Writer& body, const HelloFields& fields);

struct ThreadAddFields {
  std::uint32_t tid, arena, area, use;
  std::string_view name;
};
void EncodeThreadAdd(Encoder& encoder, Encoder::Writer& body, const ThreadAddFields& fields);

struct ExecutionBeginFields {
  std::uint64_t handle;
  std::span<const std::uint8_t, 16> id;
  std::uint64_t plan_id;
  std::span<const tailor_label> labels;
};
std::size_t LabelsBound(std::span<const tailor_label> labels);
void EncodeExecutionBegin(Encoder& encoder, Encoder::Writer& body, const ExecutionBeginFields& fields);

void EncodeRegionKind(Encoder& encoder, Encoder::Writer& body, std::uint32_t id,
                      const tailor_region_kind& kind);

}  // namespace tailor::agent
