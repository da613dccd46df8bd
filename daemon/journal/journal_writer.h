// Keeps every input of a recording in a file (journal_format.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/pipeline/input.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/store/file_io.h"
#include "daemon/store/output_file.h"
#include "proto/base/result.h"
#include "tailor/v1/journal.pb.h"

namespace tailor::journal {

// After a failed write it keeps nothing more: a journal with a hole would replay to something else. finish()
// tells. One thread, that of the pipeline.
class JournalWriter : public pipeline::Input {
 public:
  // `options` are those of the pipeline that hears the same inputs. Fails where store::open_output() does.
  static Result<std::unique_ptr<JournalWriter>> create(const std::string& path,
                                                       const pipeline::PipelineOptions& options,
                                                       const store::OutputOptions& output = {
                                                           .shown = store::OutputOptions::Shown::kAtOnce});
  static std::unique_ptr<JournalWriter> on(std::unique_ptr<store::Output> output,
                                           const pipeline::PipelineOptions& options);

  void on_recording(const profile::RecordingInfo& info) override;
  void on_clock(const clock::Conversion& piece, bool restarted) override;
  void on_perf_clock(const clock::Conversion& line) override;
  void on_known_process(const pipeline::KnownProcess& process) override;
  void on_ring(const capture::RingLayout& layout) override;
  void on_chunk(const capture::RingChunk& chunk) override;
  void on_round(TimeNs horizon) override;
  void on_ring_closed(capture::RingIndex ring) override;
  void on_connected(const registration::PeerConnected& event) override;
  void on_message(const registration::PeerMessage& event) override;
  void on_activity(const registration::ActivityRecords& event) override;
  void on_settled(const registration::Settled& event) override;
  void on_rejected(const registration::PeerRejected& event) override;
  void on_agent_dropped(ProcessId process, std::uint64_t messages) override;
  void on_agent_unsent(ProcessId process, std::uint64_t messages) override;
  void on_gone(const registration::PeerGone& event) override;
  void on_capture_ended(const pipeline::CaptureEnded& event) override;
  void on_process_ended(ProcessId process) override;
  void on_names(const profile::FileNames& names) override;
  void advance(TimeNs now) override;
  void flush(TimeNs now) override;

  // The recording has begun (store::OutputOptions::Shown::kWhenBegun). Any thread may call it.
  void begin() {
    if (named_ != nullptr) named_->begin();
  }

  // Completes the file and makes it durable. Fails if anything, now or before, could not be written.
  Status finish();

 private:
  explicit JournalWriter(std::unique_ptr<store::Output> output) : output_(std::move(output)) {}
  // The record to fill, and then to write.
  v1::JournalRecord& next();
  void write();
  void write_out();

  std::unique_ptr<store::Output> output_;
  store::NamedOutput* named_ = nullptr;  // output_; NULL with on()
  std::string buffer_;
  v1::JournalRecord record_;
  std::uint64_t records_ = 0;
  Status status_ = Ok{};
};

}  // namespace tailor::journal
