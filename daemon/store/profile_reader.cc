#include "daemon/store/profile_reader.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include "daemon/store/activity_codec.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sample_codec.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {
namespace {

template <typename Message>
bool parse(const std::string& payload, Message& out, std::string& problem) {
  if (out.ParseFromString(payload)) return true;
  problem = fmt::format("a {} block is not valid protobuf", Message::descriptor()->name());
  return false;
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
      loss = {record.writer_loss().samples(), record.writer_loss().activity(), record.writer_loss().blocks(),
              record.writer_loss().reason()};
      return true;
    case v1::MetaRecord::RECORD_NOT_SET:
      return true;  // a record of a newer minor version
  }
  return true;
}

bool deliver_meta(const std::string& payload, profile::ProfileSink& sink, SaidLoss& loss,
                  std::string& problem) {
  v1::MetaBlock meta;
  if (!parse(payload, meta, problem)) return false;
  bool good = true;
  // One bad record must not hide the others.
  for (const v1::MetaRecord& record : meta.records()) good &= deliver_record(record, sink, loss, problem);
  return good;
}

bool deliver_samples(const std::string& payload, profile::ProfileSink& sink, ReadReport& report,
                     std::string& problem) {
  v1::SampleBlock message;
  if (!parse(payload, message, problem)) return false;
  return give(decode_samples(message), problem, [&](const auto& samples) {
    report.samples += samples.size();
    sink.on_samples(samples);
  });
}

bool deliver_activity(const std::string& payload, profile::ProfileSink& sink, ReadReport& report,
                      std::string& problem) {
  v1::ActivityBlock message;
  if (!parse(payload, message, problem)) return false;
  return give(decode_activity(message), problem, [&](const auto& records) {
    report.activity += records.size();
    sink.on_activity(records);
  });
}

bool deliver_end(const std::string& payload, ReadReport& report, std::string& problem) {
  v1::EndBlock end;
  if (!parse(payload, end, problem)) return false;
  report.finished = true;
  report.missing_samples = end.samples() > report.samples ? end.samples() - report.samples : 0;
  return true;
}

}  // namespace

bool deliver(const Block& block, profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
             std::string& problem) {
  switch (block.header.type) {
    case BlockType::kMeta:
      return deliver_meta(block.payload, sink, loss, problem);
    case BlockType::kPlan: {
      v1::PlanBlock message;
      if (!parse(block.payload, message, problem)) return false;
      sink.on_plan(get_process(message.process()), message.loaded(), message.plan());
      return true;
    }
    case BlockType::kCode: {
      v1::CodeBlock message;
      if (!parse(block.payload, message, problem)) return false;
      sink.on_code(get_process(message.process()), message.loaded(), message.code());
      return true;
    }
    case BlockType::kSamples:
      return deliver_samples(block.payload, sink, report, problem);
    case BlockType::kActivity:
      return deliver_activity(block.payload, sink, report, problem);
    case BlockType::kEnd:
      return deliver_end(block.payload, report, problem);
  }
  return false;
}

Status read_profile(Input& input, profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss) {
  BlockReader reader(input, report);
  if (auto header = reader.open(); !header) return header.error();
  for (;;) {
    auto block = reader.next();
    if (!block) return block.error();
    if (!block->has_value()) return Ok{};
    std::string problem;
    if (deliver(**block, sink, report, loss, problem)) continue;
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
