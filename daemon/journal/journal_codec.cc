#include "daemon/journal/journal_codec.h"

#include <sys/mman.h>

#include <cstring>

#include "daemon/store/meta_codec.h"
#include "proto/base/errors.h"

namespace tailor::journal {
namespace {

using store::get_process;
using store::set_process;

clock::Conversion decode(const v1::ClockPiece& in) {
  clock::Conversion out;
  out.from_tsc = in.from_tsc();
  out.base_ns = in.base_ns();
  out.mult = in.mult();
  out.shift = in.shift();
  out.source = static_cast<clock::Source>(in.source());
  out.trusted = in.trusted();
  out.error_ns = in.error_ns();
  out.drift_ppb = in.drift_ppb();
  return out;
}

capture::EventFormat decode(const v1::EventFormat& in) {
  capture::EventFormat out;
  out.source = static_cast<std::uint16_t>(in.source());
  out.sample_type = in.sample_type();
  out.read_format = in.read_format();
  out.branch_sample_type = in.branch_sample_type();
  out.regs_user = in.regs_user();
  out.regs_intr = in.regs_intr();
  out.sample_id_all = in.sample_id_all();
  out.period = in.period();
  out.tag_register = static_cast<std::uint8_t>(in.tag_register());
  out.tag_from = static_cast<capture::TagFrom>(in.tag_from());
  out.part = static_cast<capture::Part>(in.part());
  return out;
}

Result<capture::RingLayout> decode(const v1::RingLayout& in) {
  if (in.ids_size() != in.id_formats_size())
    return internal("a ring layout with ids and formats of other numbers");
  capture::RingLayout out;
  out.ring = in.ring();
  out.cpu = in.cpu();
  out.pid = in.pid();
  out.clock = static_cast<capture::RecordClock>(in.clock());
  out.shared = in.shared();
  for (const v1::EventFormat& format : in.formats()) out.formats.push_back(decode(format));
  for (int i = 0; i < in.ids_size(); ++i) {
    out.ids.push_back({in.ids(i), static_cast<std::uint16_t>(in.id_formats(i))});
  }
  return out;
}

capture::RingChunk decode(const v1::RingChunk& in) {
  capture::RingChunk out;
  out.ring = in.ring();
  out.bytes.resize(in.bytes().size());
  std::memcpy(out.bytes.data(), in.bytes().data(), in.bytes().size());
  return out;
}

registration::PeerConnected decode(const v1::PeerConnected& in) {
  registration::PeerConnected out;
  out.connection = in.connection();
  out.process = get_process(in.process());
  out.uid = in.uid();
  out.gid = in.gid();
  out.received_tsc = in.received_tsc();
  out.hello = in.hello();
  return out;
}

registration::PeerMessage decode(const v1::PeerMessage& in) {
  registration::PeerMessage out;
  out.connection = in.connection();
  out.process = get_process(in.process());
  out.received_tsc = in.received_tsc();
  out.message = in.message();
  return out;
}

Result<registration::ActivityRecords> decode(const v1::PeerActivity& in) {
  if (in.records().size() % TAILOR_LOG_RECORD_SIZE != 0) return internal("a log record is cut short");
  registration::ActivityRecords out;
  out.process = get_process(in.process());
  out.tid = in.tid();
  out.lost = in.lost();
  out.records.resize(in.records().size() / TAILOR_LOG_RECORD_SIZE);
  if (!out.records.empty()) std::memcpy(out.records.data(), in.records().data(), in.records().size());
  return out;
}

pipeline::MemoryMapping decode(const v1::MemoryMapping& in) {
  return {in.begin(),
          in.size(),
          (in.protection() & PROT_READ) != 0,
          (in.protection() & PROT_WRITE) != 0,
          (in.protection() & PROT_EXEC) != 0,
          in.shared(),
          in.name()};
}

pipeline::KnownProcess decode(const v1::KnownProcess& in) {
  pipeline::KnownProcess out{get_process(in.process()), in.comm(), in.cgroup()};
  out.agent_thread = in.agent_thread();
  for (const v1::MappedFile& file : in.mapped_files()) out.mappings.push_back(store::decode(file));
  for (const v1::MemoryMapping& mapping : in.memory()) out.memory.push_back(decode(mapping));
  if (in.since_ns() != 0) out.since = in.since_ns();
  out.more = in.more();
  out.rules = in.rules();
  return out;
}

registration::PeerGone decode(const v1::PeerGone& in) {
  return {in.connection(), get_process(in.process()), static_cast<registration::GoneReason>(in.reason()),
          in.detail()};
}

}  // namespace

void encode(const pipeline::PipelineOptions& in, v1::JournalStart& out) {
  out.set_delay_ns(in.delay);
  out.set_max_lag_ns(in.max_lag);
  v1::Quotas& quotas = *out.mutable_quotas();
  quotas.set_total_bytes(in.limits.total_bytes);
  quotas.set_user_plans(in.limits.user_plans);
  quotas.set_user_code_bytes(in.limits.user_code_bytes);
  quotas.set_user_regions(in.limits.user_regions);
  out.set_all_marks(in.all_marks);
}

void encode(const clock::Conversion& in, bool restarted, v1::ClockPiece& out) {
  out.set_from_tsc(in.from_tsc);
  out.set_base_ns(in.base_ns);
  out.set_mult(in.mult);
  out.set_shift(in.shift);
  out.set_source(static_cast<std::uint32_t>(in.source));
  out.set_trusted(in.trusted);
  out.set_error_ns(in.error_ns);
  out.set_drift_ppb(in.drift_ppb);
  out.set_restarted(restarted);
}

void encode(const pipeline::MemoryMapping& in, v1::MemoryMapping& out) {
  out.set_begin(in.begin);
  out.set_size(in.size);
  out.set_protection(static_cast<std::uint32_t>(
      (in.readable ? PROT_READ : 0) | (in.writable ? PROT_WRITE : 0) | (in.executable ? PROT_EXEC : 0)));
  out.set_shared(in.shared);
  out.set_name(in.name);
}

void encode(const capture::RingLayout& in, v1::RingLayout& out) {
  out.set_ring(in.ring);
  out.set_cpu(in.cpu);
  out.set_pid(in.pid);
  out.set_clock(static_cast<std::uint32_t>(in.clock));
  out.set_shared(in.shared);
  for (const capture::EventFormat& format : in.formats) {
    v1::EventFormat& to = *out.add_formats();
    to.set_source(format.source);
    to.set_sample_type(format.sample_type);
    to.set_read_format(format.read_format);
    to.set_branch_sample_type(format.branch_sample_type);
    to.set_regs_user(format.regs_user);
    to.set_regs_intr(format.regs_intr);
    to.set_sample_id_all(format.sample_id_all);
    to.set_period(format.period);
    to.set_tag_register(format.tag_register);
    to.set_tag_from(static_cast<std::uint32_t>(format.tag_from));
    to.set_part(static_cast<std::uint32_t>(format.part));
  }
  for (const capture::EventIdEntry& id : in.ids) {
    out.add_ids(id.id);
    out.add_id_formats(id.format);
  }
}

void encode(const registration::PeerConnected& in, v1::PeerConnected& out) {
  out.set_connection(in.connection);
  set_process(*out.mutable_process(), in.process);
  out.set_uid(in.uid);
  out.set_gid(in.gid);
  out.set_received_tsc(in.received_tsc);
  *out.mutable_hello() = in.hello;
}

void encode(const registration::PeerMessage& in, v1::PeerMessage& out) {
  out.set_connection(in.connection);
  set_process(*out.mutable_process(), in.process);
  out.set_received_tsc(in.received_tsc);
  *out.mutable_message() = in.said();
}

void encode(const registration::ActivityRecords& in, v1::PeerActivity& out) {
  static_assert(sizeof(tailor_log_record) == TAILOR_LOG_RECORD_SIZE);
  set_process(*out.mutable_process(), in.process);
  out.set_tid(in.tid);
  out.set_lost(in.lost);
  out.set_records(in.records.data(), in.records.size() * TAILOR_LOG_RECORD_SIZE);
}

pipeline::PipelineOptions decode(const v1::JournalStart& in) {
  pipeline::PipelineOptions options;
  options.delay = in.delay_ns();
  options.max_lag = in.max_lag_ns();
  // Older journals were written without quotas.
  constexpr std::size_t kNone = std::size_t{1} << 60;
  const bool told = in.has_quotas();
  options.limits.total_bytes = told ? in.quotas().total_bytes() : kNone;
  options.limits.user_plans = told ? in.quotas().user_plans() : kNone;
  options.limits.user_code_bytes = told ? in.quotas().user_code_bytes() : kNone;
  options.limits.user_regions = told ? in.quotas().user_regions() : kNone;
  options.all_marks = in.all_marks();
  return options;
}

Status deliver(const v1::JournalRecord& record, pipeline::Input& input) {
  switch (record.input_case()) {
    case v1::JournalRecord::kRecording: {
      auto info = store::decode(record.recording());
      if (!info.ok()) return info.error();
      input.on_recording(*info);
      return Ok{};
    }
    case v1::JournalRecord::kClock:
      input.on_clock(decode(record.clock()), record.clock().restarted());
      return Ok{};
    case v1::JournalRecord::kPerfClock:
      input.on_perf_clock(decode(record.perf_clock()));
      return Ok{};
    case v1::JournalRecord::kAgentDropped:
      input.on_agent_dropped(get_process(record.agent_dropped().process()),
                             record.agent_dropped().messages());
      return Ok{};
    case v1::JournalRecord::kAgentUnsent:
      input.on_agent_unsent(get_process(record.agent_unsent().process()), record.agent_unsent().messages());
      return Ok{};
    case v1::JournalRecord::kKnownProcess:
      input.on_known_process(decode(record.known_process()));
      return Ok{};
    case v1::JournalRecord::kRing: {
      auto layout = decode(record.ring());
      if (!layout.ok()) return layout.error();
      input.on_ring(*layout);
      return Ok{};
    }
    case v1::JournalRecord::kChunk:
      input.on_chunk(decode(record.chunk()));
      return Ok{};
    case v1::JournalRecord::kRound:
      input.on_round(record.round());
      return Ok{};
    case v1::JournalRecord::kRingClosed:
      input.on_ring_closed(record.ring_closed());
      return Ok{};
    case v1::JournalRecord::kConnected:
      input.on_connected(decode(record.connected()));
      return Ok{};
    case v1::JournalRecord::kMessage:
      input.on_message(decode(record.message()));
      return Ok{};
    case v1::JournalRecord::kActivity: {
      auto activity = decode(record.activity());
      if (!activity.ok()) return activity.error();
      input.on_activity(*activity);
      return Ok{};
    }
    case v1::JournalRecord::kSettled:
      input.on_settled({get_process(record.settled().process()), record.settled().tsc()});
      return Ok{};
    case v1::JournalRecord::kRejected:
      input.on_rejected({record.rejected().connection(), get_process(record.rejected().process()),
                         record.rejected().what()});
      return Ok{};
    case v1::JournalRecord::kGone:
      input.on_gone(decode(record.gone()));
      return Ok{};
    case v1::JournalRecord::kCaptureEnded: {
      const v1::CaptureEnded& in = record.capture_ended();
      input.on_capture_ended({get_process(in.process()), in.time(), in.goes_on(), in.records_filtered(),
                              in.samples_filtered(), in.broken_rings()});
      return Ok{};
    }
    case v1::JournalRecord::kProcessEnded:
      input.on_process_ended(get_process(record.process_ended()));
      return Ok{};
    case v1::JournalRecord::kFileNames: {
      auto names = store::decode(record.file_names());
      if (!names.ok()) return names.error();
      input.on_names(*names);
      return Ok{};
    }
    case v1::JournalRecord::kAdvance:
      input.advance(record.advance());
      return Ok{};
    case v1::JournalRecord::kFlush:
      input.flush(record.flush());
      return Ok{};
    default:
      return internal("a record of a kind that this version does not know");
  }
}

}  // namespace tailor::journal
