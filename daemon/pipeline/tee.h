// Gives every input to several, in order: the journal first, then the pipeline.
#pragma once

#include <utility>
#include <vector>

#include "daemon/pipeline/input.h"

namespace tailor::pipeline {

class Tee : public Input {
 public:
  explicit Tee(std::vector<Input*> to) : to_(std::move(to)) {}

  void on_recording(const profile::RecordingInfo& v) override { all(&Input::on_recording, v); }
  void on_clock(const clock::Conversion& v, bool restarted) override { all(&Input::on_clock, v, restarted); }
  void on_perf_clock(const clock::Conversion& v) override { all(&Input::on_perf_clock, v); }
  void on_known_process(const KnownProcess& v) override { all(&Input::on_known_process, v); }
  void on_ring(const capture::RingLayout& v) override { all(&Input::on_ring, v); }
  void on_chunk(const capture::RingChunk& v) override { all(&Input::on_chunk, v); }
  void on_round(TimeNs v) override { all(&Input::on_round, v); }
  void on_ring_closed(capture::RingIndex v) override { all(&Input::on_ring_closed, v); }
  void on_connected(const registration::PeerConnected& v) override { all(&Input::on_connected, v); }
  void on_message(const registration::PeerMessage& v) override { all(&Input::on_message, v); }
  void on_activity(const registration::ActivityRecords& v) override { all(&Input::on_activity, v); }
  void on_settled(const registration::Settled& v) override { all(&Input::on_settled, v); }
  void on_rejected(const registration::PeerRejected& v) override { all(&Input::on_rejected, v); }
  void on_agent_dropped(ProcessId p, std::uint64_t v) override { all(&Input::on_agent_dropped, p, v); }
  void on_agent_unsent(ProcessId p, std::uint64_t v) override { all(&Input::on_agent_unsent, p, v); }
  void on_gone(const registration::PeerGone& v) override { all(&Input::on_gone, v); }
  void on_capture_ended(const CaptureEnded& v) override { all(&Input::on_capture_ended, v); }
  void on_process_ended(ProcessId v) override { all(&Input::on_process_ended, v); }
  void on_names(const profile::FileNames& v) override { all(&Input::on_names, v); }
  void advance(TimeNs v) override { all(&Input::advance, v); }
  void flush(TimeNs v) override { all(&Input::flush, v); }

 private:
  template <typename Method, typename... Values>
  void all(Method method, const Values&... values) {
    for (Input* to : to_) (to->*method)(values...);
  }

  std::vector<Input*> to_;
};

}  // namespace tailor::pipeline
