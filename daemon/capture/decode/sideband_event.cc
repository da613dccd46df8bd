#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/record_events.h"
#include "daemon/capture/decode/sample_view.h"
#include "daemon/capture/decode/told_record.h"

namespace tailor::capture {
namespace {

// What every decoder below gets: the fields of the record itself, and where its event goes.
struct Target {
  const RecordView& record;
  Event& event;
  Batch& out;

  void set_text(std::string_view text) const {
    event.text_offset = static_cast<std::uint32_t>(out.text.size());
    event.text_size = static_cast<std::uint32_t>(text.size());
    out.text += text;
  }
  void set_words(const WordView& words) const {
    event.chain_offset = static_cast<std::uint32_t>(out.words.size());
    event.chain_size = static_cast<std::uint16_t>(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) out.words.push_back(words[i]);
  }
  void read_thread(ByteCursor& cursor) const {
    event.pid = cursor.i32();
    event.tid = cursor.i32();
  }
  void set_file_id(std::span<const std::byte> file) const {
    const auto of_content = content_id_in(file);
    const auto id = of_content.empty() ? build_id_in(file) : of_content;
    if (id.empty()) return;
    std::array<std::byte, 24> padded{};
    std::ranges::copy(id, padded.begin());
    set_words({padded.data(), padded.size() / 8});
    event.data_source = id.size() | (of_content.empty() ? 0 : kContentIdBit);
  }
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void decode_mmap(const Target& to, ByteCursor& cursor, bool extended) {
  to.event.kind = Kind::kMmap;
  to.read_thread(cursor);
  to.event.address = cursor.u64();
  to.event.size = cursor.u64();
  to.event.page_offset = cursor.u64();
  to.event.flag_executable = !(to.record.misc & PERF_RECORD_MISC_MMAP_DATA);
  if (extended) {
    const auto identity = cursor.take(24);
    const std::uint32_t protection = cursor.u32();
    to.event.flag_executable = protection & PROT_EXEC;
    to.event.flag_writable = protection & PROT_WRITE;
    to.event.flag_readable = protection & PROT_READ;
    to.event.flag_shared = cursor.u32() & MAP_SHARED;
    const bool marked = cursor.ok() && to.record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
    if (marked) to.set_file_id(identity);
  }
  to.set_text(cursor.rest_as_text());
}

void decode_comm(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kComm;
  to.event.flag_exec = to.record.misc & PERF_RECORD_MISC_COMM_EXEC;
  to.read_thread(cursor);
  to.set_text(cursor.rest_as_text());
}

void decode_task(const Target& to, ByteCursor& cursor, Kind kind) {
  to.event.kind = kind;
  to.event.pid = cursor.i32();
  to.event.parent_pid = cursor.i32();
  to.event.tid = cursor.i32();
  to.event.parent_tid = cursor.i32();
  to.event.time = static_cast<TimeNs>(cursor.u64());
}

void decode_throttle(const Target& to, ByteCursor& cursor, Kind kind) {
  to.event.kind = kind;
  to.event.time = static_cast<TimeNs>(cursor.u64());
  cursor.u64();                         // id, the same for all events that were inherited from one
  to.event.data_source = cursor.u64();  // stream id
}

void decode_lost(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kLost;
  cursor.u64();  // id
  to.event.weight = cursor.u64();
}

void decode_switch(const Target& to, ByteCursor& cursor, bool cpu_wide) {
  bool out = to.record.misc & PERF_RECORD_MISC_SWITCH_OUT;
  to.event.kind = out ? Kind::kSwitchOut : Kind::kSwitchIn;
  to.event.flag_preempted = out && (to.record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
  if (!cpu_wide) return;
  to.event.parent_pid = cursor.i32();
  to.event.parent_tid = cursor.i32();
}

void decode_namespaces(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kNamespaces;
  to.read_thread(cursor);
  std::uint64_t count = cursor.u64();
  if (count > cursor.remaining()) count = cursor.remaining();
  to.set_words(cursor.words(count * 2));
}

void decode_ksymbol(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kKernelSymbol;
  to.event.address = cursor.u64();
  to.event.size = cursor.u32();
  to.event.data_source = cursor.u16();
  to.event.flag_exec = cursor.u16() & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
  to.set_text(cursor.rest_as_text());
}

void decode_bpf(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kBpfProgram;
  to.event.data_source = cursor.u16();
  cursor.u16();  // flags
  to.event.address = cursor.u32();
  to.set_text(as_text(cursor.take(8)));
}

void decode_cgroup(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kCgroup;
  to.event.address = cursor.u64();
  to.set_text(cursor.rest_as_text());
}

void decode_text_poke(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kTextPoke;
  to.event.address = cursor.u64();
  to.event.size = cursor.u16();
  to.event.page_offset = cursor.u16();
  to.set_text(as_text(cursor.take(to.event.size + to.event.page_offset)));
}

void decode_aux(const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kAux;
  to.event.address = cursor.u64();
  to.event.size = cursor.u64();
  to.event.data_source = cursor.u64();
}

void decode_counts(const EventFormat& format, const Target& to, ByteCursor& cursor) {
  to.event.kind = Kind::kCounts;
  to.read_thread(cursor);
  std::span<const std::byte> values;
  if (!skip_read_values(format.read_format, cursor, values)) {
    cursor.take(cursor.remaining() + 1);
    return;
  }
  to.set_words({values.data(), values.size() / sizeof(std::uint64_t)});
}

// False for a type newer than this decoder.
bool decode_fields(const EventFormat& format, const Target& to, ByteCursor& cursor) {
  switch (to.record.type) {
    case PERF_RECORD_MMAP:
      decode_mmap(to, cursor, false);
      return true;
    case PERF_RECORD_MMAP2:
      decode_mmap(to, cursor, true);
      return true;
    case PERF_RECORD_LOST:
      decode_lost(to, cursor);
      return true;
    case PERF_RECORD_COMM:
      decode_comm(to, cursor);
      return true;
    case PERF_RECORD_EXIT:
      decode_task(to, cursor, Kind::kExit);
      return true;
    case PERF_RECORD_FORK:
      decode_task(to, cursor, Kind::kFork);
      return true;
    case PERF_RECORD_THROTTLE:
      decode_throttle(to, cursor, Kind::kThrottle);
      return true;
    case PERF_RECORD_UNTHROTTLE:
      decode_throttle(to, cursor, Kind::kUnthrottle);
      return true;
    case PERF_RECORD_READ:
      decode_counts(format, to, cursor);
      return true;
    case PERF_RECORD_AUX:
      decode_aux(to, cursor);
      return true;
    case PERF_RECORD_ITRACE_START:
      to.event.kind = Kind::kTraceStart;
      to.read_thread(cursor);
      return true;
    case PERF_RECORD_LOST_SAMPLES:
      to.event.kind = Kind::kLostSamples;
      to.event.weight = cursor.u64();
      return true;
    case PERF_RECORD_SWITCH:
      decode_switch(to, cursor, false);
      return true;
    case PERF_RECORD_SWITCH_CPU_WIDE:
      decode_switch(to, cursor, true);
      return true;
    case PERF_RECORD_NAMESPACES:
      decode_namespaces(to, cursor);
      return true;
    case PERF_RECORD_KSYMBOL:
      decode_ksymbol(to, cursor);
      return true;
    case PERF_RECORD_BPF_EVENT:
      decode_bpf(to, cursor);
      return true;
    case PERF_RECORD_CGROUP:
      decode_cgroup(to, cursor);
      return true;
    case PERF_RECORD_TEXT_POKE:
      decode_text_poke(to, cursor);
      return true;
    case PERF_RECORD_AUX_OUTPUT_HW_ID:
      to.event.kind = Kind::kHardwareId;
      to.event.data_source = cursor.u64();
      return true;
    case kNotDrawnRecord:
      to.event.kind = Kind::kNotDrawn;
      to.event.weight = cursor.u64();
      to.event.size = cursor.u64();
      return true;
    default:
      return false;
  }
}

}  // namespace

RecordOutcome decode_sideband(const EventFormat& format, std::uint32_t ring_cpu, const RecordView& record,
                              Batch& out) {
  std::size_t trailer = sample_id_size(format);
  if (record.payload.size() < trailer) return RecordOutcome::kMalformed;
  ByteCursor cursor(record.payload.first(record.payload.size() - trailer));
  SampleId id = parse_sample_id(format, record.payload.last(trailer));

  std::size_t words_before = out.words.size();
  std::size_t text_before = out.text.size();
  Event& event = out.events.emplace_back();
  event.mode = mode_of(record.misc);
  event.source = format.source;
  event.cpu = id.has_cpu ? id.cpu : ring_cpu;
  event.pid = id.pid;
  event.tid = id.tid;
  event.time = static_cast<TimeNs>(id.time);
  bool known = decode_fields(format, Target{record, event, out}, cursor);
  if (known && cursor.ok()) return RecordOutcome::kDecoded;
  out.events.pop_back();
  out.words.resize(words_before);
  out.text.resize(text_before);
  return known ? RecordOutcome::kMalformed : RecordOutcome::kUnknownType;
}

}  // namespace tailor::capture
