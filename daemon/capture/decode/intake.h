// What the bytes of a ring became, on their way to the sorter.
//
// Nearly all records of a profile are samples with fields at fixed places. They are not made events yet: they
// lie among the words of the batch as the kernel wrote them, which is half the memory, and each becomes an
// event when it leaves the sorter, right before it is used. All other records are decoded at once.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/fixed_sample.h"

namespace tailor::capture {

// The packed samples' formats, by the number that their record holds in place of its header.
using FixedFormats = std::vector<std::optional<FixedSample>>;

// One record: `at` is the number of its event, or with kPacked the place of its payload in the words.
struct Arrival {
  static constexpr std::uint32_t kPacked = std::uint32_t{1} << 31;

  TimeNs time = 0;  // decides the order; set where the record carries none
  std::uint32_t at = 0;
  bool packed() const { return at & kPacked; }
};

// One that is packed, seen in its batch. Valid as long as that.
struct PackedSample {
  const FixedSample* format = nullptr;
  const std::uint64_t* payload = nullptr;
  std::uint32_t at = 0;  // of the payload in the words of the batch
  TimeNs time = 0;       // the arrival's: that of the record may have been converted

  Event event() const {
    Event event = format->unpack(payload, at);
    event.time = time;
    return event;
  }
};

struct Intake {
  Batch batch;
  std::vector<Arrival> order;  // as in the ring
  std::shared_ptr<const FixedFormats> formats;

  // Events that were decoded elsewhere.
  static Intake of(Batch&& batch) {
    Intake all;
    all.batch = std::move(batch);
    for (std::uint32_t i = 0; i < all.batch.events.size(); ++i) {
      all.order.push_back({all.batch.events[i].time, i});
    }
    return all;
  }

  // Makes events of all, and keeps nothing but what they refer to.
  void unpack_all() {
    Batch events;
    for (Arrival& arrival : order) {
      events.append(batch, event(arrival));
      arrival.at = static_cast<std::uint32_t>(events.events.size() - 1);
    }
    batch = std::move(events);
  }

  // Keeps the memory for the next use.
  void clear() {
    batch.clear();
    order.clear();
  }

  // The event of one of `order`, with what it refers to in `batch`.
  Event event(const Arrival& arrival) const {
    return arrival.packed() ? packed(batch, *formats, arrival).event() : batch.events[arrival.at];
  }

  static PackedSample packed(const Batch& batch, const FixedFormats& formats, const Arrival& arrival) {
    const std::uint32_t at = arrival.at & ~Arrival::kPacked;
    const std::uint64_t* payload = batch.words.data() + at;
    return {&*formats[*(payload - 1)], payload, at, arrival.time};
  }
};

}  // namespace tailor::capture
