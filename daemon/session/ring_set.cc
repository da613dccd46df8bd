#include "daemon/session/ring_set.h"

#include <fmt/format.h>

#include <utility>

namespace tailor::session {

Status RingSet::open(const capture::RingLayout& layout) {
  if (layout.clock != capture::RecordClock::kMonotonicRaw) {
    return Error{fmt::format("ring {}: its records are stamped by perf's own clock, which is not known here",
                             layout.ring)};
  }
  const auto known = decoders_.find(layout.ring);
  if (known != decoders_.end()) return known->second.update(layout);
  auto decoder = capture::RecordDecoder::create(layout);
  if (!decoder.ok()) return decoder.error();
  decoders_.emplace(layout.ring, std::move(*decoder));
  return Ok{};
}

void RingSet::close(capture::RingIndex ring) {
  const auto known = decoders_.find(ring);
  if (known == decoders_.end()) return;
  undecoded_closed_ += undecoded(known->second.counts());
  decoders_.erase(known);
}

const capture::RingLayout* RingSet::decode(const capture::RingChunk& chunk, capture::Batch& out) {
  const auto known = decoders_.find(chunk.ring);
  if (known == decoders_.end()) return nullptr;
  known->second.decode(chunk.bytes, out);
  return &known->second.layout();
}

std::uint64_t RingSet::undecoded() const {
  std::uint64_t total = undecoded_closed_;
  for (const auto& [ring, decoder] : decoders_) total += undecoded(decoder.counts());
  return total;
}

}  // namespace tailor::session
