// Turns what the pipeline says into the payloads of blocks; where they go is the BlockSink's business.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/store/block.h"
#include "daemon/store/block_writer.h"
#include "daemon/store/group_sums.h"
#include "daemon/store/memory_budget.h"
#include "daemon/store/process_weights.h"
#include "daemon/store/stack_table.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

class BlockSink {
 public:
  virtual ~BlockSink() = default;
  // Gives the sequence number of the block in its file; nothing: it was not written.
  virtual std::optional<std::uint64_t> block(BlockType type, std::string_view raw,
                                             const BlockContent& content) = 0;
  // The bytes of the file so far, of one that is read as a whole: it holds the names that a reader has room
  // for. Nothing: it is one of several files, and the giver of names bounds them.
  virtual std::optional<std::uint64_t> written() const { return std::nullopt; }
};

struct EncoderOptions {
  std::uint32_t rows_per_block = 16384;   // at most kMaxBlockRows
  TimeNs flush_interval = 1'000'000'000;  // of the watermark: what a live reader waits for at most
  SumsOptions sums;
};

// Buffers samples, activity and small records, and gives out blocks so that everything a sample refers to
// comes before it. When a block ends depends on the calls alone, never on a clock: the same calls give the
// same blocks. One thread; `out` must outlive it.
class ProfileEncoder : public profile::ProfileSink {
 public:
  ProfileEncoder(BlockSink& out, EncoderOptions options)
      : out_(out), options_(options), sums_(options.sums) {}

  void on_recording(const profile::RecordingInfo& info) override;
  void on_process(const profile::ProcessRecord& process) override;
  void on_thread(ProcessId process, std::int32_t tid, const std::string& name) override;
  void on_component(ProcessId process, std::uint32_t id, const std::string& name) override;
  void on_mapping(const profile::MappingRecord& mapping) override;
  void on_names(const profile::FileNames& names) override;
  void on_region_kind(ProcessId process, const v1::RegionKind& kind) override;
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override;
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override;
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override;
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;
  void on_activity(std::span<const profile::ActivityRecord> records) override;
  void on_accounting(const profile::Accounting& accounting) override;
  void on_watermark(TimeNs watermark) override;

  // Gives out everything that is buffered.
  void flush();
  // The same, and sums of the samples that have none: the file ends.
  void finish();

  // Contents of attachments are given out again: the blocks that follow go to another file.
  void forget_attachments() { attachments_.clear(); }

 private:
  // Without a process it is nobody's.
  v1::MetaRecord& add_meta(std::size_t size_hint, ProcessId process = {});
  void flush_meta();
  void flush_samples();
  void flush_activity();
  void write_sums();
  bool has_room(const profile::FileNames& names);
  void strip_known(ProcessId process, google::protobuf::RepeatedPtrField<v1::Attachment>& attachments);

  BlockSink& out_;
  EncoderOptions options_;
  v1::MetaBlock meta_;
  std::size_t meta_bytes_ = 0;
  // The records of executions in meta_: one that ends soon is written once, with its end.
  std::map<std::pair<ProcessId, ExecutionHandle>, int> executions_;
  std::map<ProcessId, profile::Accounting>
      accounting_;  // totals: only the last of a process is worth writing
  std::vector<profile::SampleRecord> samples_;
  StackTable stacks_;  // of samples_
  GroupSums sums_;     // of those that were given out
  std::vector<profile::ActivityRecord> activity_;
  ProcessWeights meta_weights_, sample_weights_, activity_weights_;  // of what is buffered
  std::set<std::pair<ProcessId, std::string>> attachments_;          // whose content was given out
  NamesRoom names_room_;
  std::uint64_t names_left_out_ = 0, names_said_ = 0;  // functions
  TimeNs watermark_ = kTimeMin;
  TimeNs flushed_ = kTimeMin;
};

}  // namespace tailor::store
