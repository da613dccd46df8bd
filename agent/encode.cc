#include "agent/encode.h"

namespace tailor::agent {

namespace {

constexpr std::uint32_t kProtocol = 1;
// Field header and length of a string, twice, and of the message around them.
constexpr std::size_t kLabelOverhead = 32;

}  // namespace

void EncodeHello(FixedWire& body, const HelloFields& fields) {
  body.Number(1, kProtocol);
  body.Text(2, fields.engine_name);
  body.Text(3, fields.engine_version);
  body.Text(4, TAILOR_VERSION);
  body.Number(5, fields.pid);
  body.Number(6, fields.tag_key);
  body.Number(7, fields.tag_strategy);
  body.Bytes(8, {reinterpret_cast<const char*>(fields.session.data()), fields.session.size()});
  body.Signed(9, fields.tag_slot_offset);
}

void EncodeThreadAdd(FixedWire& body, const ThreadAddFields& fields) {
  body.Number(1, fields.tid);
  body.Number(2, fields.arena);
  body.Number(3, fields.area);
  body.Number(4, fields.use);
  body.Text(5, fields.name);
}

std::size_t LabelsBound(std::span<const tailor_label> labels) {
  std::size_t bytes = 0;
  for (const tailor_label& label : labels) {
    bytes += kLabelOverhead + View(label.key, kMaxNameBytes).size() + View(label.value, kMaxTextBytes).size();
  }
  return bytes;
}

void EncodeExecutionBegin(FixedWire& body, const ExecutionBeginFields& fields) {
  body.Number(1, fields.handle);
  body.Bytes(2, {reinterpret_cast<const char*>(fields.id.data()), fields.id.size()});
  body.Number(3, fields.plan_id);
  for (const tailor_label& label : fields.labels) {
    std::size_t begin = body.Begin(4);
    body.Text(1, View(label.key, kMaxNameBytes));
    body.Text(2, View(label.value, kMaxTextBytes));
    body.End(begin);
  }
  body.Number(5, fields.tags_off);
}

void EncodeRegionKind(FixedWire& body, std::uint32_t id, const tailor_region_kind& kind) {
  body.Number(1, id);
  body.Text(2, View(kind.name, kMaxNameBytes));
  body.Number(3, kind.role);
  body.Number(4, kind.plan_id);
  body.Number(5, kind.level);
  body.Number(6, kind.component);
  body.Number(7, kind.element_bytes);
}

}  // namespace tailor::agent
