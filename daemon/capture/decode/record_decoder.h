// Decodes perf records (perf_event.h) into events. Sans I/O: the bytes come from a ring, a perf.data file or
// a journal, and are not trusted: what does not fit its own sizes is counted and left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/intake.h"
#include "daemon/capture/decode/record_events.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "proto/base/result.h"

namespace tailor::capture {

// Every record that was read is counted once: records = decoded + malformed + unknown_type + unknown_id.
struct DecodeCounts {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t decoded = 0;
  std::uint64_t malformed = 0;     // a size, count or offset that does not fit the record
  std::uint64_t unknown_type = 0;  // a record type newer than this decoder
  std::uint64_t unknown_id = 0;    // of an event the layout does not name
  std::uint64_t cut_bytes = 0;     // at the end of a chunk, after a header with an impossible size
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;          // as PERF_RECORD_LOST says
  std::uint64_t lost_samples = 0;  // as PERF_RECORD_LOST_SAMPLES says
};

// One per ring. Not thread-safe; owned by the thread that decodes the ring.
class RecordDecoder {
 public:
  // An error if the layout contradicts itself (no format, several formats without identifier, an id that
  // names no format).
  static Result<RecordDecoder> create(RingLayout layout);

  // Replaces the layout when events were added; counts go on. On error the old layout stays.
  Status update(RingLayout layout);

  // Appends the events of `bytes`, whole records as RingChunk has them. Never fails: see counts().
  // Times are those of the ring's clock; an event without one has time 0.
  void decode(std::span<const std::byte> bytes, Batch& out);
  // The same into an empty intake, which holds the same events in the same order, some of them packed.
  void decode(std::span<const std::byte> bytes, Intake& out);

  const RingLayout& layout() const { return layout_; }
  const DecodeCounts& counts() const { return counts_; }

 private:
  // Where a record keeps the id of its event, in words: of samples from the start of the payload, of all
  // others before its end. The same for all formats, else nobody could tell the format of a record.
  struct IdPosition {
    std::size_t from_start = 0;
    std::size_t from_end = 0;
    bool operator==(const IdPosition&) const = default;
  };
  struct Lookup {
    std::vector<EventIdEntry> ids;  // by id; empty: one format for all
    IdPosition position;
    std::shared_ptr<const FixedFormats> fixed;
    bool any_fixed = false;
  };

  RecordDecoder(RingLayout layout, Lookup lookup) : layout_(std::move(layout)), lookup_(std::move(lookup)) {}
  static Result<Lookup> index(const RingLayout& layout);
  static Result<IdPosition> id_position(const EventFormat& format);
  static constexpr std::size_t kNoFormat = ~std::size_t{0};
  // The format of a record, by its number; kNoFormat: of an event the layout does not name.
  std::size_t format_of(const RecordView& record);
  // NULL unless the record is a sample that fits.
  const FixedSample* fixed_of(std::size_t format, const RecordView& record) const;
  RecordOutcome decode_by(std::size_t format, const RecordView& record, Batch& out);
  // Whether there is an event of it, at the end of `out`.
  bool decode_record(std::size_t format, const RecordView& record, Batch& out);
  bool read_record(std::span<const std::byte> bytes, RecordView& record);
  std::size_t pack_run(std::size_t& at, std::size_t end, Intake& out);
  std::size_t take_record(std::size_t at, const RecordView& record, Intake& out);
  void count_losses(const Event& event);

  RingLayout layout_;
  Lookup lookup_;
  EventIdEntry last_;  // most records belong to the event of the record before
  DecodeCounts counts_;
};

}  // namespace tailor::capture
