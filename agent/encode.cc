#include "agent/encode.h"

#include "agent/utf8.h"

namespace tailor::agent {

namespace {

constexpr std::uint32_t kProtocol = 1;
// Field header and length of a string, twice, and of the message around them.
constexpr std::size_t kLabelOverhead = 32;

}  // namespace

void Encoder::Text(Writer& writer, std::uint32_t field, std::string_view text) {
  if (text.empty()) return;
  writer.add_string(field, text.data(), text.size());
  SanitizeUtf8({buffer_.data() + buffer_.size() - text.size(), text.size()});
}

void EncodeHello(Encoder& encoder, Encoder::Writer& body, const HelloFields& fields) {
  body.add_uint32(1, kProtocol);
  encoder.Text(body, 2, fields.engine_name);
  encoder.Text(body, 3, fields.engine_version);
  body.add_string(4, TAILOR_VERSION);
  body.add_uint32(5, fields.pid);
  body.add_uint64(6, fields.tag_key);
  body.add_enum(7, static_cast<std::int32_t>(fields.tag_strategy));
  body.add_bytes(8, reinterpret_cast<const char*>(fields.session.data()), fields.session.size());
  if (fields.tag_slot_offset != 0) body.add_sint64(9, fields.tag_slot_offset);
}

void EncodeThreadAdd(Encoder& encoder, Encoder::Writer& body, const ThreadAddFields& fields) {
  body.add_uint32(1, fields.tid);
  body.add_uint32(2, fields.arena);
  body.add_uint32(3, fields.area);
  body.add_uint32(4, fields.use);
  encoder.Text(body, 5, fields.name);
}

std::size_t LabelsBound(std::span<const tailor_label> labels) {
  std::size_t bytes = 0;
  for (const tailor_label& label : labels) {
    bytes += kLabelOverhead + View(label.key, kMaxNameBytes).size() + View(label.value, kMaxTextBytes).size();
  }
  return bytes;
}

void EncodeExecutionBegin(Encoder& encoder, Encoder::Writer& body, const ExecutionBeginFields& fields) {
  body.add_uint64(1, fields.handle);
  body.add_bytes(2, reinterpret_cast<const char*>(fields.id.data()), fields.id.size());
  body.add_uint64(3, fields.plan_id);
  for (const tailor_label& label : fields.labels) {
    Encoder::Writer message(body, 4);
    encoder.Text(message, 1, View(label.key, kMaxNameBytes));
    encoder.Text(message, 2, View(label.value, kMaxTextBytes));
  }
}

void EncodeRegionKind(Encoder& encoder, Encoder::Writer& body, std::uint32_t id,
                      const tailor_region_kind& kind) {
  body.add_uint32(1, id);
  encoder.Text(body, 2, View(kind.name, kMaxNameBytes));
  body.add_uint32(3, kind.role);
  body.add_uint64(4, kind.plan_id);
  body.add_uint32(5, kind.level);
  body.add_uint32(6, kind.component);
  body.add_uint32(7, kind.element_bytes);
}

}  // namespace tailor::agent
