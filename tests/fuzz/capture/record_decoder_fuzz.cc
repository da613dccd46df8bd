// The first bytes choose the formats, the rest is what the ring or file holds.
#include <cstdlib>
#include <cstring>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/capture/decode/sample_view.h"

namespace {

using tailor::capture::EventFormat;

EventFormat take_format(tailor::capture::ByteCursor& cursor) {
  EventFormat format;
  format.sample_type = cursor.u64() & tailor::capture::kKnownSampleTypes;
  format.read_format = cursor.u8();
  format.branch_sample_type = cursor.u32();
  format.regs_user = cursor.u64();
  format.regs_intr = cursor.u64();
  format.sample_id_all = cursor.u8() & 1;
  format.tag_register = cursor.u8();
  return format;
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::capture;
  ByteCursor cursor(std::as_bytes(std::span(data, size)));
  RingLayout layout;
  unsigned formats = cursor.u8() % 3 + 1u;
  for (unsigned i = 0; i < formats; ++i) {
    layout.formats.push_back(take_format(cursor));
    layout.ids.push_back({i, static_cast<std::uint16_t>(i)});
  }
  auto decoder = RecordDecoder::create(layout);
  if (!cursor.ok() || !decoder) return 0;
  auto bytes = cursor.take(cursor.remaining());
  Batch batch;
  decoder->decode(bytes, batch);
  const DecodeCounts& counts = decoder->counts();
  require(counts.records == counts.decoded + counts.malformed + counts.unknown_type + counts.unknown_id);
  require(counts.decoded == batch.events.size());
  Batch copy;
  for (const Event& event : batch.events) {
    require(batch.text_of(event).size() == event.text_size);
    require(batch.chain(event).size() == event.chain_size);
    copy.append(batch, event);
  }
  // The same events in the same order, some of them packed.
  Intake intake;
  decoder->decode(bytes, intake);
  require(intake.order.size() == batch.events.size());
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    const Event& one = batch.events[i];
    const Event other = intake.event(intake.order[i]);
    require(one.time == other.time && one.kind == other.kind && one.tid == other.tid && one.ip == other.ip);
    require(one.tag == other.tag && one.regs_mask == other.regs_mask && one.weight == other.weight);
    for (unsigned number = 0; number < 32; ++number) {
      require(batch.reg(one, number) == intake.batch.reg(other, number));
    }
  }
  RecordScan scan;
  scan_records(bytes, scan);
  return 0;
}
