// Encoding of AgentMessages, straight into memory that somebody else has reserved. Field numbers are those of
// proto/tailor/v1/registration.proto. The bounds below make sure that the memory is large enough; where it is
// not, the wire says that it is not complete.
#pragma once

#include <tailor/agent.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "agent/message.h"
#include "agent/wire.h"

namespace tailor::agent {

// Most bytes of a message without its strings: tsc, body header and up to ten integers.
inline constexpr std::size_t kFixedBound = 192;
// Longer strings are cut.
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = 1024 * 1024;
inline constexpr std::size_t kMaxLabels = 64;
inline constexpr std::size_t kMaxWaitNames = 4096;
inline constexpr std::size_t kMaxWaitNameBytes = 63;
inline constexpr std::size_t kMaxHolders = 16;

// NULL is the empty string; cut to `limit` bytes.
inline std::string_view view(const char* text, std::size_t limit) noexcept {
  return text ? std::string_view(text, ::strnlen(text, limit)) : std::string_view();
}

// Writes `tsc`, then the body of this kind through f(FixedWire& body).
template <typename F>
void encode_message(FixedWire& wire, MessageKind kind, std::uint64_t tsc, F f) {
  wire.number(1, tsc);
  std::size_t begin = wire.begin(static_cast<std::uint32_t>(kind));
  f(wire);
  wire.end(begin);
}

struct HelloFields {
  std::string_view engine_name, engine_version;
  std::uint32_t pid;
  std::uint64_t tag_key;
  std::uint32_t tag_strategy;
  std::span<const std::uint8_t, 16> instance;
  std::int64_t tag_slot_offset;  // 0: not told
};
void encode_hello(FixedWire& body, const HelloFields& fields);

struct ThreadAddFields {
  std::uint32_t tid, arena, area, use;
  std::string_view name;
};
void encode_thread_add(FixedWire& body, const ThreadAddFields& fields);

struct ExecutionBeginFields {
  std::uint64_t handle;
  std::span<const std::uint8_t, 16> id;
  std::uint64_t plan_id;
  std::span<const tailor_label> labels;
  bool tags_off;
};
std::size_t labels_bound(std::span<const tailor_label> labels);
void encode_execution_begin(FixedWire& body, const ExecutionBeginFields& fields);

// The field `added_runs` of ExecutionEnd, even if there is no run.
std::size_t added_runs_bound(const tailor_runs& runs);
void encode_added_runs(FixedWire& body, const tailor_runs& runs);

std::size_t wait_names_bound(std::span<const tailor_wait_name> names);
void encode_wait_names(FixedWire& body, std::span<const tailor_wait_name> names);

std::size_t blocked_bound(std::span<const std::uint32_t> holders);
void encode_blocked(FixedWire& body, std::uint32_t pid, std::uint64_t since_tsc,
                    std::span<const std::uint32_t> holders);

void encode_region_kind(FixedWire& body, std::uint32_t id, const tailor_region_kind& kind);

}  // namespace tailor::agent
