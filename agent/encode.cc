#include "agent/encode.h"

#include <tailor/thread_area.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tailor::agent {

namespace {

constexpr std::uint32_t kProtocol = 1;
// Field header and length of a string, twice, and of the message around them.
constexpr std::size_t kLabelOverhead = 32;

}  // namespace

void encode_hello(FixedWire& body, const HelloFields& fields) {
  body.number(1, kProtocol);
  body.text(2, fields.engine_name);
  body.text(3, fields.engine_version);
  body.text(4, TAILOR_VERSION);
  body.number(5, fields.pid);
  body.number(6, fields.tag_key);
  body.number(7, fields.tag_strategy);
  body.bytes(8, {reinterpret_cast<const char*>(fields.instance.data()), fields.instance.size()});
  body.signed_number(9, fields.tag_slot_offset);
  body.number(10, offsetof(tailor_slot, state_of));
}

void encode_thread_add(FixedWire& body, const ThreadAddFields& fields) {
  body.number(1, fields.tid);
  body.number(2, fields.arena);
  body.number(3, fields.area);
  body.number(4, fields.use);
  body.text(5, fields.name);
}

std::size_t labels_bound(std::span<const tailor_label> labels) {
  std::size_t bytes = 0;
  for (const tailor_label& label : labels) {
    bytes += kLabelOverhead + view(label.key, kMaxNameBytes).size() + view(label.value, kMaxTextBytes).size();
  }
  return bytes;
}

void encode_execution_begin(FixedWire& body, const ExecutionBeginFields& fields) {
  body.number(1, fields.handle);
  body.bytes(2, {reinterpret_cast<const char*>(fields.id.data()), fields.id.size()});
  body.number(3, fields.plan_id);
  for (const tailor_label& label : fields.labels) {
    std::size_t begin = body.begin(4);
    body.text(1, view(label.key, kMaxNameBytes));
    body.text(2, view(label.value, kMaxTextBytes));
    body.end(begin);
  }
  body.number(5, fields.tags_off);
}

// The message and its numbers, and for each bucket that is used two bytes of its number and ten of its count.
std::size_t added_runs_bound(const tailor_runs& runs) {
  constexpr std::size_t kNumbers = 96, kBucket = 12;
  const auto used = std::ranges::count_if(runs.buckets, [](std::uint64_t count) { return count != 0; });
  return kNumbers + kBucket * static_cast<std::size_t>(used);
}

void encode_added_runs(FixedWire& body, const tailor_runs& runs) {
  std::array<std::uint32_t, TAILOR_ELAPSED_BUCKETS> used{};
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    if (runs.buckets[i] != 0) used[count++] = i;
  }
  const std::size_t begin = body.begin(4);
  body.number(1, runs.runs);
  body.number(2, runs.failed);
  body.number(3, runs.elapsed_ns);
  body.number(4, runs.shortest_ns);
  body.number(5, runs.longest_ns);
  body.packed(6, count, [&](std::size_t i) { return used[i] - (i == 0 ? 0 : used[i - 1]); });
  body.packed(7, count, [&](std::size_t i) { return runs.buckets[used[i]]; });
  body.end(begin);
}

// A header and length of the name, and of the two numbers around it: at most this many bytes.
std::size_t wait_names_bound(std::span<const tailor_wait_name> names) {
  return names.size() * (kMaxWaitNameBytes + 16);
}

void encode_wait_names(FixedWire& body, std::span<const tailor_wait_name> names) {
  for (const tailor_wait_name& each : names) {
    std::size_t begin = body.begin(1);
    body.number(1, each.number);
    body.text(2, view(each.name, kMaxWaitNameBytes));
    body.end(begin);
  }
}

// A number has at most 5 bytes.
std::size_t blocked_bound(std::span<const std::uint32_t> holders) {
  return holders.size() * 5;
}

void encode_blocked(FixedWire& body, std::uint32_t pid, std::uint64_t since_tsc,
                    std::span<const std::uint32_t> holders) {
  body.number(1, pid);
  body.number(2, since_tsc);
  body.packed(3, holders.size(), [&](std::size_t i) { return holders[i]; });
}

void encode_region_kind(FixedWire& body, std::uint32_t id, const tailor_region_kind& kind) {
  body.number(1, id);
  body.text(2, view(kind.name, kMaxNameBytes));
  body.number(3, kind.role);
  body.number(4, kind.plan_id);
  body.number(5, kind.level);
  body.number(6, kind.component);
  body.number(7, kind.element_bytes);
}

}  // namespace tailor::agent
