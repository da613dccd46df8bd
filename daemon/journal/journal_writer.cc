#include "daemon/journal/journal_writer.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "daemon/journal/journal_codec.h"
#include "daemon/journal/journal_format.h"
#include "daemon/store/crc32c.h"
#include "daemon/store/meta_codec.h"
#include "proto/base/errors.h"

namespace tailor::journal {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

}  // namespace

Result<std::unique_ptr<JournalWriter>> JournalWriter::create(const std::string& path,
                                                             const pipeline::PipelineOptions& options,
                                                             const store::OutputOptions& output) {
  auto opened = store::open_output(path, output);
  if (!opened.ok()) return opened.error();
  store::NamedOutput* const named = opened->get();
  auto writer = on(*std::move(opened), options);
  writer->named_ = named;
  return writer;
}

std::unique_ptr<JournalWriter> JournalWriter::on(std::unique_ptr<store::Output> output,
                                                 const pipeline::PipelineOptions& options) {
  std::unique_ptr<JournalWriter> writer(new JournalWriter(std::move(output)));
  writer->buffer_.append(kMagic);
  put_u32(writer->buffer_, kVersion);
  put_u32(writer->buffer_, 0);
  encode(options, *writer->next().mutable_start());
  writer->write();
  return writer;
}

void JournalWriter::on_recording(const profile::RecordingInfo& info) {
  store::encode(info, *next().mutable_recording());
  write();
}

void JournalWriter::on_clock(const clock::Conversion& piece, bool restarted) {
  encode(piece, restarted, *next().mutable_clock());
  write();
}

void JournalWriter::on_perf_clock(const clock::Conversion& line) {
  encode(line, false, *next().mutable_perf_clock());
  write();
}

void JournalWriter::on_known_process(const pipeline::KnownProcess& process) {
  v1::KnownProcess& out = *next().mutable_known_process();
  out.set_agent_thread(process.agent_thread);
  for (const profile::MappingRecord& mapping : process.mappings)
    store::encode(mapping, *out.add_mapped_files());
  store::set_process(*out.mutable_process(), process.process);
  for (const pipeline::MemoryMapping& mapping : process.memory) encode(mapping, *out.add_memory());
  out.set_comm(process.comm);
  out.set_cgroup(process.cgroup);
  if (process.since != kTimeMin) out.set_since_ns(process.since);
  out.set_more(process.more);
  out.set_rules(process.rules);
  write();
}

void JournalWriter::on_ring(const capture::RingLayout& layout) {
  encode(layout, *next().mutable_ring());
  write();
}

void JournalWriter::on_chunk(const capture::RingChunk& chunk) {
  v1::RingChunk& out = *next().mutable_chunk();
  out.set_ring(chunk.ring);
  out.set_bytes(chunk.bytes.data(), chunk.bytes.size());
  write();
}

void JournalWriter::on_round(TimeNs horizon) {
  next().set_round(horizon);
  write();
}

void JournalWriter::on_ring_closed(capture::RingIndex ring) {
  next().set_ring_closed(ring);
  write();
}

void JournalWriter::on_connected(const registration::PeerConnected& event) {
  encode(event, *next().mutable_connected());
  write();
}

void JournalWriter::on_message(const registration::PeerMessage& event) {
  encode(event, *next().mutable_message());
  write();
}

void JournalWriter::on_activity(const registration::ActivityRecords& event) {
  encode(event, *next().mutable_activity());
  write();
}

void JournalWriter::on_settled(const registration::Settled& event) {
  v1::PeerSettled& out = *next().mutable_settled();
  store::set_process(*out.mutable_process(), event.process);
  out.set_tsc(event.tsc);
  write();
}

void JournalWriter::on_rejected(const registration::PeerRejected& event) {
  v1::PeerRejected& out = *next().mutable_rejected();
  out.set_connection(event.connection);
  store::set_process(*out.mutable_process(), event.process);
  out.set_what(event.what);
  write();
}

void JournalWriter::on_agent_dropped(ProcessId process, std::uint64_t messages) {
  v1::AgentDropped& out = *next().mutable_agent_dropped();
  store::set_process(*out.mutable_process(), process);
  out.set_messages(messages);
  write();
}

void JournalWriter::on_agent_unsent(ProcessId process, std::uint64_t messages) {
  v1::AgentDropped& out = *next().mutable_agent_unsent();
  store::set_process(*out.mutable_process(), process);
  out.set_messages(messages);
  write();
}

void JournalWriter::on_gone(const registration::PeerGone& event) {
  v1::PeerGone& out = *next().mutable_gone();
  out.set_connection(event.connection);
  store::set_process(*out.mutable_process(), event.process);
  out.set_reason(static_cast<std::uint32_t>(event.reason));
  out.set_detail(event.detail);
  write();
}

void JournalWriter::on_capture_ended(const pipeline::CaptureEnded& event) {
  v1::CaptureEnded& out = *next().mutable_capture_ended();
  store::set_process(*out.mutable_process(), event.process);
  out.set_time(event.time);
  out.set_goes_on(event.goes_on);
  out.set_records_filtered(event.records_filtered);
  out.set_samples_filtered(event.samples_filtered);
  out.set_broken_rings(event.broken_rings);
  write();
}

void JournalWriter::on_process_ended(ProcessId process) {
  store::set_process(*next().mutable_process_ended(), process);
  write();
}

void JournalWriter::on_names(const profile::FileNames& names) {
  store::encode(names, *next().mutable_file_names());
  write();
}

void JournalWriter::advance(TimeNs now) {
  next().set_advance(now);
  write();
}

void JournalWriter::flush(TimeNs now) {
  next().set_flush(now);
  write();
  write_out();
}

Status JournalWriter::finish() {
  next().mutable_end()->set_records(records_);
  write();
  write_out();
  if (!status_.ok()) return status_;
  if (Status synced = output_->sync(); !synced.ok()) return synced;
  return named_ == nullptr ? Status(Ok{}) : named_->complete();
}

v1::JournalRecord& JournalWriter::next() {
  record_.Clear();
  return record_;
}

void JournalWriter::write() {
  if (!status_.ok()) return;
  std::string payload;
  if (!record_.SerializeToString(&payload) || payload.size() > kMaxPayload) {
    status_ = internal(fmt::format("journal: an input of {} bytes cannot be kept", record_.ByteSizeLong()));
    return;
  }
  put_u32(buffer_, static_cast<std::uint32_t>(payload.size()));
  put_u32(buffer_, store::crc32c({reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()}));
  buffer_ += payload;
  ++records_;
  if (buffer_.size() >= kBufferBytes) write_out();
}

void JournalWriter::write_out() {
  if (status_.ok()) {
    Status written = output_->append(buffer_);
    if (!written.ok()) status_ = written;
  }
  buffer_.clear();
}

}  // namespace tailor::journal
