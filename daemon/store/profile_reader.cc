#include "daemon/store/profile_reader.h"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/store/activity_codec.h"
#include "daemon/store/execution_scan.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sample_codec.h"
#include "daemon/store/wire.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {
namespace {

// The message in the payload; NULL, with the problem, where there is none.
template <typename Message>
const Message* parse(const std::string& payload, BoundedArena& arena, std::string& problem) {
  const std::string& name = Message::descriptor()->name();
  try {
    auto* message = google::protobuf::Arena::CreateMessage<Message>(arena.get());
    if (message->ParseFromString(payload)) return message;
    problem = fmt::format("a {} block is not valid protobuf", name);
  } catch (const std::bad_alloc&) {
    problem = fmt::format("a {} block would take more memory than a profile of its size may", name);
  }
  return nullptr;
}

// Hands a decoded value on, or keeps the decoder's complaint.
template <typename Value, typename Give>
bool give(const Result<Value>& value, std::string& problem, Give&& to) {
  if (!value) {
    problem = value.error().message;
    return false;
  }
  to(*value);
  return true;
}

bool deliver_record(const v1::MetaRecord& record, profile::ProfileSink& sink, SaidLoss& loss,
                    std::string& problem) {
  switch (record.record_case()) {
    case v1::MetaRecord::kRecording:
      return give(decode(record.recording()), problem, [&](const auto& v) { sink.on_recording(v); });
    case v1::MetaRecord::kProcess:
      return give(decode(record.process()), problem, [&](const auto& v) { sink.on_process(v); });
    case v1::MetaRecord::kExecution:
      return give(decode(record.execution()), problem, [&](const auto& v) { sink.on_execution(v); });
    case v1::MetaRecord::kAccounting:
      return give(decode(record.accounting()), problem, [&](const auto& v) { sink.on_accounting(v); });
    case v1::MetaRecord::kThread:
      sink.on_thread(get_process(record.thread().process()), record.thread().tid(), record.thread().name());
      return true;
    case v1::MetaRecord::kComponent:
      sink.on_component(get_process(record.component().process()), record.component().id(),
                        record.component().name());
      return true;
    case v1::MetaRecord::kMappedFile:
      sink.on_mapping(decode(record.mapped_file()));
      return true;
    case v1::MetaRecord::kFileNames:
      return give(decode(record.file_names()), problem, [&](const auto& v) { sink.on_names(v); });
    case v1::MetaRecord::kRegionKind:
      sink.on_region_kind(get_process(record.region_kind().process()), record.region_kind().kind());
      return true;
    case v1::MetaRecord::kCodeUnloaded:
      sink.on_code_unload(get_process(record.code_unloaded().process()), record.code_unloaded().time(),
                          record.code_unloaded().code_id());
      return true;
    case v1::MetaRecord::kWatermark:
      sink.on_watermark(record.watermark());
      return true;
    case v1::MetaRecord::kWriterLoss:
      loss.samples = record.writer_loss().samples();
      loss.activity = record.writer_loss().activity();
      loss.blocks = record.writer_loss().blocks();
      loss.reason = record.writer_loss().reason();
      return true;
    case v1::MetaRecord::kNamesLeftOut:
      loss.names = record.names_left_out();
      return true;
    case v1::MetaRecord::kRemoved:
      loss.removed_samples = record.removed().samples();
      loss.removed_activity = record.removed().activity();
      loss.removed_records = record.removed().records();
      return true;
    case v1::MetaRecord::RECORD_NOT_SET:
      return true;  // a record of a newer minor version
  }
  return true;
}

// The next record of a META block, and the field that holds it. False: no record comes next.
bool next_record(WireReader& in, std::string_view& field, std::string_view& record) {
  constexpr std::uint8_t kRecords = 1 << 3 | 2;
  const char* begin = in.position();
  if (in.done() || in.tag() != kRecords || !in.bytes(record)) return false;
  field = {begin, static_cast<std::size_t>(in.position() - begin)};
  return true;
}

// The records that are no executions, as a MetaBlock. Nothing: there are no others, or this is no MetaBlock.
std::optional<std::string> without_executions(std::string_view payload) {
  std::string others;
  std::string_view field, record;
  bool executions = false;
  for (WireReader in(payload); !in.done();) {
    if (!next_record(in, field, record)) return std::nullopt;
    const bool is_execution = !execution_in(record).empty();
    executions = executions || is_execution;
    if (!is_execution) others += field;
  }
  return executions ? std::optional(std::move(others)) : std::nullopt;
}

bool deliver_meta(const std::string& payload, BoundedArena& arena, profile::ProfileSink& sink, SaidLoss& loss,
                  std::string& problem) {
  const std::optional<std::string> others = without_executions(payload);
  const auto* meta = parse<v1::MetaBlock>(others ? *others : payload, arena, problem);
  if (meta == nullptr) return false;
  bool good = true;
  // One bad record must not hide the others.
  if (!others) {
    for (const v1::MetaRecord& record : meta->records()) good &= deliver_record(record, sink, loss, problem);
    return good;
  }
  ExecutionScanner scanner;
  auto other = meta->records().begin();
  std::string_view field, record;
  for (WireReader in(payload); next_record(in, field, record);) {
    const std::string_view execution = execution_in(record);
    if (execution.empty()) {
      good &= deliver_record(*other++, sink, loss, problem);
    } else if (const profile::ExecutionRecord* scanned = scanner.scan(execution)) {
      sink.on_execution(*scanned);
    } else {
      const auto* parsed = parse<v1::MetaRecord>(std::string(record), arena, problem);
      good &= parsed != nullptr && deliver_record(*parsed, sink, loss, problem);
    }
  }
  return good;
}

bool deliver_samples(const std::string& payload, BoundedArena& arena, profile::ProfileSink& sink,
                     ReadReport& report, std::string& problem) {
  const auto* message = parse<v1::SampleBlock>(payload, arena, problem);
  if (message == nullptr) return false;
  return give(decode_samples(*message), problem, [&](const auto& decoded) {
    report.samples += decoded.samples.size();
    sink.on_samples(decoded.samples);
  });
}

bool deliver_activity(const std::string& payload, BoundedArena& arena, profile::ProfileSink& sink,
                      ReadReport& report, std::string& problem) {
  const auto* message = parse<v1::ActivityBlock>(payload, arena, problem);
  if (message == nullptr) return false;
  return give(decode_activity(*message), problem, [&](const auto& records) {
    report.activity += records.size();
    sink.on_activity(records);
  });
}

bool deliver_end(const std::string& payload, BoundedArena& arena, ReadReport& report, std::string& problem) {
  const auto* end = parse<v1::EndBlock>(payload, arena, problem);
  if (end == nullptr) return false;
  report.finished = true;
  report.missing_samples = end->samples() > report.samples ? end->samples() - report.samples : 0;
  return true;
}

}  // namespace

bool deliver(const Block& block, profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
             std::string& problem) {
  BoundedArena arena(memory_budget(report.bytes));
  switch (block.header.type) {
    case BlockType::kMeta:
      return deliver_meta(block.payload, arena, sink, loss, problem);
    case BlockType::kPlan: {
      const auto* message = parse<v1::PlanBlock>(block.payload, arena, problem);
      if (message == nullptr) return false;
      sink.on_plan(get_process(message->process()), message->loaded(), message->plan());
      return true;
    }
    case BlockType::kCode: {
      const auto* message = parse<v1::CodeBlock>(block.payload, arena, problem);
      if (message == nullptr) return false;
      sink.on_code(get_process(message->process()), message->loaded(), message->code());
      return true;
    }
    case BlockType::kSamples:
      return deliver_samples(block.payload, arena, sink, report, problem);
    case BlockType::kActivity:
      return deliver_activity(block.payload, arena, sink, report, problem);
    case BlockType::kEnd:
      return deliver_end(block.payload, arena, report, problem);
    case BlockType::kSums:  // said by samples too (sums_reader.h)
      return true;
    case BlockType::kSummary:  // of files of their own (summary_codec.h)
      break;
  }
  return false;
}

Status read_profile(Input& input, profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
                    const MayGoOn& may_go_on, SumsTaker* taker) {
  BlockReader reader(input, report);
  if (auto header = reader.open(); !header) return header.error();
  std::optional<SumsReader> sums;
  if (taker != nullptr) {
    sums.emplace(input, *taker, report);
    reader.leave_out([&sums](const BlockHeader& block) { return sums->leave(block); });
  }
  for (;;) {
    auto block = reader.next();
    if (!block) return block.error();
    if (!block->has_value()) return Ok{};
    std::string problem;
    const bool delivered = deliver(**block, sink, report, loss, problem);
    if (may_go_on) {
      if (auto ok = may_go_on(report.bytes); !ok) return ok;
    }
    if (delivered) continue;
    if (problem.empty()) {
      ++report.unknown_blocks;
      continue;
    }
    ++report.malformed_blocks;
    if (report.first_problem.empty()) {
      report.first_problem = fmt::format("at byte {}: {}", (*block)->offset, problem);
    }
  }
}

}  // namespace tailor::store
