#include "daemon/store/segment_rewriter.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "daemon/profile/forwarding_sink.h"
#include "daemon/store/block_writer.h"
#include "daemon/store/encoder.h"
#include "daemon/store/file_io.h"
#include "daemon/store/profile_reader.h"
#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {
namespace {

constexpr std::string_view kHalfWritten = ".new";

class RewrittenBlocks : public BlockSink {
 public:
  RewrittenBlocks(std::unique_ptr<Output> output, const FileHeader& header)
      : writer(std::move(output), header) {}
  std::optional<std::uint64_t> block(BlockType type, std::string_view raw,
                                     const BlockContent& content) override {
    return writer.write(type, raw, content);
  }

  BlockWriter writer;
};

// Names of files and code of the kernel are nobody's, and stay.
class WithoutProcesses : public profile::ForwardingSink {
 public:
  WithoutProcesses(profile::ProfileSink& out, const std::set<ProcessId>& processes)
      : ForwardingSink(out), processes_(processes) {}

  void on_thread(ProcessId process, std::int32_t tid, const std::string& name) override {
    if (keeps_record(process)) out_.on_thread(process, tid, name);
  }
  void on_component(ProcessId process, std::uint32_t id, const std::string& name) override {
    if (keeps_record(process)) out_.on_component(process, id, name);
  }
  void on_mapping(const profile::MappingRecord& mapping) override {
    if (keeps_record(mapping.process)) out_.on_mapping(mapping);
  }
  void on_region_kind(ProcessId process, const v1::RegionKind& kind) override {
    if (keeps_record(process)) out_.on_region_kind(process, kind);
  }
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override {
    if (keeps_record(process)) out_.on_plan(process, loaded, plan);
  }
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override {
    if (keeps_record(process)) out_.on_code(process, loaded, code);
  }
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override {
    if (keeps_record(process)) out_.on_code_unload(process, time, code);
  }
  void on_execution(const profile::ExecutionRecord& execution) override {
    if (keeps_record(execution.process)) out_.on_execution(execution);
  }
  void on_samples(std::span<const profile::SampleRecord> samples) override {
    const auto kept = kept_of(samples);
    removed_samples += samples.size() - kept.size();
    out_.on_samples(kept);
  }
  void on_activity(std::span<const profile::ActivityRecord> records) override {
    const auto kept = kept_of(records);
    removed_activity += records.size() - kept.size();
    out_.on_activity(kept);
  }

  std::uint64_t removed_samples = 0, removed_activity = 0, removed_records = 0;

 private:
  bool keeps_record(ProcessId process) {
    const bool removed = processes_.contains(process);
    removed_records += removed ? 1 : 0;
    return !removed;
  }
  template <typename Record>
  std::vector<Record> kept_of(std::span<const Record> records) const {
    std::vector<Record> kept;
    std::copy_if(records.begin(), records.end(), std::back_inserter(kept),
                 [this](const Record& record) { return !processes_.contains(record.process); });
    return kept;
  }

  const std::set<ProcessId>& processes_;
};

// What the former file said was lost, and what is removed now and was before.
std::string said_losses(const SaidLoss& said, const WithoutProcesses& without) {
  v1::MetaBlock meta;
  if (said.blocks > 0) {
    v1::WriterLoss& loss = *meta.add_records()->mutable_writer_loss();
    loss.set_samples(said.samples);
    loss.set_activity(said.activity);
    loss.set_blocks(said.blocks);
    loss.set_reason(said.reason);
  }
  if (said.names > 0) meta.add_records()->set_names_left_out(said.names);
  v1::RemovedByShare& removed = *meta.add_records()->mutable_removed();
  removed.set_samples(said.removed_samples + without.removed_samples);
  removed.set_activity(said.removed_activity + without.removed_activity);
  removed.set_records(said.removed_records + without.removed_records);
  return meta.SerializeAsString();
}

Result<FileHeader> header_of(Input& input) {
  std::array<std::uint8_t, kFileHeaderSize> head{};
  auto got = input.read_at(0, head);
  if (!got) return got.error();
  auto header = decode_file_header(std::span<const std::uint8_t>(head).first(*got));
  if (header && header->version_minor > kVersionMinor) return internal("it is of a newer program");
  return header;
}

// What cannot be read would be gone, and nothing would say so.
Status check_readable(const ReadReport& report) {
  const std::uint64_t holes = report.damaged_spots + report.missing_blocks + report.malformed_blocks +
                              report.unknown_blocks + report.missing_samples + report.tail_bytes;
  return holes == 0 ? Status(Ok{}) : internal("some of it cannot be read");
}

Result<RewrittenSegment> copy_without(Input& input, std::unique_ptr<Output> output,
                                      const std::set<ProcessId>& processes, const MayGoOn& may_go_on) {
  const auto header = header_of(input);
  if (!header) return header.error();
  RewrittenBlocks blocks(std::move(output), *header);
  EncoderOptions options;
  options.flush_interval = 0;  // a block ends where one ended
  ProfileEncoder encoder(blocks, options);
  WithoutProcesses without(encoder, processes);
  ReadReport report;
  SaidLoss said;
  if (auto ok = read_profile(input, without, report, said, may_go_on); !ok) return ok.error();
  if (auto ok = check_readable(report); !ok) return ok.error();
  encoder.finish();
  (void)blocks.writer.write(BlockType::kMeta, said_losses(said, without));
  if (auto ok = blocks.writer.finish(); !ok) return ok.error();
  const WriteStats& stats = blocks.writer.stats();
  if (stats.lost_blocks > 0) return internal(stats.loss_reason);
  return RewrittenSegment{stats.bytes, stats.samples, without.removed_samples};
}

}  // namespace

Result<RewrittenSegment> write_without(const std::string& directory, const SegmentRow& segment,
                                       const std::set<ProcessId>& processes, os::Files& files,
                                       const MayGoOn& may_go_on) {
  const std::string path = segment_path(directory, segment.number, segment.kind);
  const auto input = open_file(path);
  if (!input) return input.error();
  auto output = create_file(path + std::string(kHalfWritten), Existing::kReplace, files);
  if (!output) return output.error();
  auto written = copy_without(**input, std::move(*output), processes, may_go_on);
  if (written) return written;
  drop_rewritten(directory, segment, files);
  return in_context(path + " cannot be written anew: ", written.error());
}

Status replace_with_rewritten(const std::string& directory, const SegmentRow& segment, os::Files& files) {
  const std::string path = segment_path(directory, segment.number, segment.kind);
  const Status replaced = files.rename(path + std::string(kHalfWritten), path);
  if (!replaced) {
    drop_rewritten(directory, segment, files);
    return in_context(path + " cannot be replaced: ", replaced.error());
  }
  // If this fails, a power failure may bring the former one back, which has more than the catalogue says.
  (void)sync_directory(directory, files);
  return Ok{};
}

void drop_rewritten(const std::string& directory, const SegmentRow& segment, os::Files& files) {
  (void)files.remove(segment_path(directory, segment.number, segment.kind) + std::string(kHalfWritten));
}

void remove_half_written(const std::string& directory, os::Files& files) {
  std::error_code error;
  std::filesystem::directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::filesystem::path name = it->path().filename();
    if (name.extension().string() != kHalfWritten) continue;
    const std::string kind = name.stem().extension().string();
    if (kind == ".data" || kind == ".dictionary") (void)files.remove(it->path().string());
  }
}

}  // namespace tailor::store
