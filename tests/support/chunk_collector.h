// Takes what a CaptureReader reads, decodes and sorts it at once, and keeps the events.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "daemon/capture/decode/event_sorter.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::test {

// Used on the reader's thread; looked at after the reader has stopped.
class ChunkCollector : public capture::ChunkSink {
 public:
  void on_ring(const capture::RingLayout& layout) override {
    auto found = decoders_.find(layout.ring);
    if (found != decoders_.end()) {
      (void)found->second.update(layout);
      return;
    }
    auto decoder = capture::RecordDecoder::create(layout);
    if (decoder) decoders_.emplace(layout.ring, std::move(*decoder));
    ++opened;
  }
  void on_chunk(capture::RingChunk&& chunk) override {
    capture::Batch batch;
    decoders_.at(chunk.ring).decode(chunk.bytes, batch);
    sorter.add(std::move(batch), late);
    bytes += chunk.bytes.size();
  }
  void on_round(TimeNs horizon) override {
    sorter.advance(horizon, events);
    ++rounds;
  }
  void on_ring_closed(capture::RingIndex) override { ++closed; }

  // To be called once, after the last round.
  void settle() { sorter.advance(kTimeMax, events); }

  capture::DecodeCounts counts() const {
    capture::DecodeCounts sum;
    for (const auto& [ring, decoder] : decoders_) {
      sum.samples += decoder.counts().samples;
      sum.malformed += decoder.counts().malformed;
      sum.unknown_type += decoder.counts().unknown_type;
      sum.unknown_id += decoder.counts().unknown_id;
      sum.cut_bytes += decoder.counts().cut_bytes;
      sum.lost += decoder.counts().lost;
    }
    return sum;
  }

  std::map<std::int32_t, std::uint64_t> samples_by_thread() const {
    std::map<std::int32_t, std::uint64_t> samples;
    for (const capture::Event& event : events.events) {
      if (event.kind == capture::Kind::kSample) ++samples[event.tid];
    }
    return samples;
  }

  std::size_t count_of(capture::Kind kind) const {
    std::size_t count = 0;
    for (const capture::Event& event : events.events) count += event.kind == kind;
    return count;
  }

  capture::EventSorter sorter;
  capture::Batch events, late;
  std::uint64_t bytes = 0;
  std::uint64_t rounds = 0, opened = 0, closed = 0;

 private:
  std::map<capture::RingIndex, capture::RecordDecoder> decoders_;
};

}  // namespace tailor::test
