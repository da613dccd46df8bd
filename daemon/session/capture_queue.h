// From the thread that reads rings to the control thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/host/capture_reader.h"
#include "proto/base/ids.h"

namespace tailor::session {

struct RoundRead {
  TimeNs horizon;
};
struct RingClosed {
  capture::RingIndex ring;
};
struct RecordingEnded {
  capture::RecordingNumber recording;
  capture::CaptureCounts counts;
  TimeNs time = 0;  // nothing was taken after it
};
using CaptureMessage =
    std::variant<capture::RingLayout, capture::RingChunk, RoundRead, RingClosed, RecordingEnded>;

// Bounded: when the control thread does not keep up, the reader waits, the rings fill, and the kernel counts
// what is lost. Any threads.
class CaptureQueue : public capture::ChunkSink {
 public:
  // `wake` is called when something comes while the control thread sleeps.
  explicit CaptureQueue(std::function<void()> wake, std::size_t max_bytes = std::size_t{64} << 20)
      : wake_(std::move(wake)), max_bytes_(max_bytes) {}

  void on_ring(const capture::RingLayout& layout) override { push(layout, 0); }
  void on_chunk(capture::RingChunk&& chunk) override {
    const std::size_t bytes = chunk.bytes.size();
    push(std::move(chunk), bytes);
  }
  void on_round(TimeNs horizon) override { push(RoundRead{horizon}, 0); }
  void on_ring_closed(capture::RingIndex ring) override { push(RingClosed{ring}, 0); }
  void on_recording_ended(const RecordingEnded& ended) { push(ended, 0); }

  // The control thread sleeps from now on, or is awake. False: there is something to take.
  bool set_asleep(bool asleep) {
    std::lock_guard lock(mutex_);
    asleep_ = asleep && !news_;
    return asleep_ == asleep;
  }
  // The reader would soon have to wait.
  bool is_filling() {
    std::lock_guard lock(mutex_);
    return bytes_ > max_bytes_ / 2;
  }
  // Everything there is, in order.
  std::vector<CaptureMessage> take() {
    std::lock_guard lock(mutex_);
    bytes_ = 0;
    news_ = false;
    room_.notify_all();
    return std::exchange(messages_, {});
  }

 private:
  void push(CaptureMessage message, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return bytes == 0 || bytes_ == 0 || bytes_ + bytes <= max_bytes_; });
    bytes_ += bytes;
    messages_.push_back(std::move(message));
    // A round alone is no news.
    const bool news = !std::holds_alternative<RoundRead>(messages_.back());
    news_ = news_ || news;
    if (news && std::exchange(asleep_, false)) wake_();
  }

  const std::function<void()> wake_;
  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::vector<CaptureMessage> messages_;
  std::size_t bytes_ = 0;
  bool news_ = false, asleep_ = false;
};

}  // namespace tailor::session
