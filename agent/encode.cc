#include "agent/encode.h"

#include <tailor/thread_area.h>

#include <cstddef>

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

// A header and length of the name, and of the two numbers around it at most so many bytes.
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
