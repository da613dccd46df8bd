#include "daemon/store/store_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "daemon/store/catalogue_scan.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/segment_rewriter.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_versions.h"
#include "daemon/store/summary_files.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

Result<UniqueFd> lock_store(const std::string& directory) {
  const std::string path = directory + "/lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!fd) return os_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return os_error(fmt::format("the store {} is being written by another process", directory), errno);
  }
  return fd;
}

EncoderOptions without_clock(EncoderOptions options) {
  // The store says when to flush.
  options.flush_interval = std::numeric_limits<TimeNs>::max();
  return options;
}

bool has_losses(const profile::Accounting& a) {
  return a.lost_ring != 0 || a.lost_hardware != 0 || a.late != 0;
}

}  // namespace

class StoreWriter::Segment : public BlockSink {
 public:
  Segment(std::unique_ptr<Output> output, const FileHeader& header, const SegmentRow& start,
          EncoderOptions options)
      : writer(std::move(output), header), encoder(*this, without_clock(options)), row_(start) {}

  std::optional<std::uint64_t> block(BlockType type, std::string_view raw,
                                     const BlockContent& content) override {
    row_.first = std::min(row_.first, content.first);
    row_.last = std::max(row_.last, content.last);
    const std::uint64_t before = writer.stats().bytes;
    const auto written = writer.write(type, raw, content);
    // A block that was not written may be written later, so its processes have a byte here at least.
    add_parts_of(written ? writer.stats().bytes - before : 0, content.weights, parts_);
    return written;
  }
  // One of a single process that was packed before.
  void block(PackedBlock packed, bool readable, ProcessId process) {
    if (readable) parts_[process] += packed.bytes.size();
    writer.write(std::move(packed), readable);
  }
  // Bytes that were written for processes since the last time.
  BytesOfProcesses take_parts() { return std::exchange(parts_, {}); }
  SegmentRow row(bool sealed) const {
    SegmentRow row = row_;
    row.bytes = writer.stats().bytes;
    row.samples = writer.stats().samples;
    row.sealed = sealed;
    return row;
  }

  // Whether it has samples or activity that it did not have the last time.
  bool take_news() {
    const std::uint64_t now = writer.stats().samples + writer.stats().activity;
    return std::exchange(told_, now) != now;
  }

  BlockWriter writer;
  ProfileEncoder encoder;

 private:
  SegmentRow row_;
  BytesOfProcesses parts_;
  std::uint64_t told_ = 0;
};

StoreWriter::StoreWriter(std::string directory, const StoreOptions& options, UniqueFd lock)
    : directory_(std::move(directory)), options_(options), lock_(std::move(lock)) {
  if (!options_.sum_unsampled) return;
  unsampled_ = std::make_unique<UnsampledExecutions>(
      [this](const profile::ExecutionRecord& execution) { write_execution(execution); });
}

StoreWriter::~StoreWriter() = default;

Result<std::unique_ptr<StoreWriter>> StoreWriter::open(const std::string& directory,
                                                       const StoreOptions& options,
                                                       std::uint64_t wall_clock_ns) {
  if (auto ok = make_store_directory(directory); !ok) return ok.error();
  auto lock = lock_store(directory);
  if (!lock) return lock.error();
  if (auto ok = check_store_versions(directory); !ok) return ok.error();
  remove_half_written(directory, *options.files);
  auto catalogue = open_for_writing(directory, *options.files, options.on_put_aside,
                                    {options.catalogue_bytes, wall_clock_ns});
  if (!catalogue) return catalogue.error();
  // Its last writer is dead, and the executions that ran then are over.
  if (auto ok = catalogue->end_running(); !ok) return ok.error();
  auto files = list_segments(directory);
  if (!files) return files.error();
  auto summaries = list_summaries(directory);
  if (!summaries) return summaries.error();
  // What they sum up may go as soon as they are there to stay.
  if (!summaries->empty()) {
    if (auto ok = sync_directory(directory, *options.files); !ok) return ok.error();
  }
  std::unique_ptr<StoreWriter> writer(new StoreWriter(directory, options, std::move(*lock)));
  const std::uint64_t summed_up_to = store::summed_up_to(*summaries);
  // A number is never used again: what is summed up is known by its number.
  writer->next_number_ = std::max(files->empty() ? 0 : files->back().number, summed_up_to) + 1;
  writer->recording_ = writer->next_number_;
  writer->wall_clock_ns_ = wall_clock_ns;
  // It may be of a program that knew no limit. Where that fails, the next start does it.
  (void)CatalogueBudget(options.catalogue_bytes).give_back(*catalogue, true);
  if (auto ok = writer->begin(std::move(*catalogue), summed_up_to); !ok) return ok.error();
  return writer;
}

Status StoreWriter::begin(Catalogue catalogue, std::uint64_t summed_up_to) {
  for (auto* segment : {&dictionary_, &data_}) {
    auto created = create_segment(segment == &data_ ? FileKind::kDataSegment : FileKind::kDictionarySegment);
    if (!created) return created.error();
    *segment = std::move(*created);
  }
  keeper_ =
      std::make_unique<CatalogueKeeper>(directory_, options_, std::move(catalogue), recording_, summed_up_to);
  CatalogueBatch batch = take_batch();
  batch.retain = true;
  if (auto ok = keeper_->wait(hand_over(std::move(batch))); !ok) {
    // It is tried again and again: what is left over would add up.
    for (Segment* segment : {dictionary_.get(), data_.get()}) {
      const SegmentRow row = segment->row(false);
      (void)options_.files->remove(segment_path(directory_, row.number, row.kind));
    }
    return ok;
  }
  settle_problem();
  keeper_->wait_for_readers(false);
  if (options_.own_thread) keeper_->start_thread();
  return Ok{};
}

Result<std::unique_ptr<StoreWriter::Segment>> StoreWriter::create_segment(FileKind kind) {
  const std::uint64_t number = next_number_;
  auto output = create_file(segment_path(directory_, number, kind), Existing::kRefuse, *options_.files);
  if (!output) return output.error();
  ++next_number_;
  SegmentRow row;
  row.number = number;
  row.kind = kind;
  row.recording = recording_;
  row.wall_ns = wall_now();
  const FileHeader header{kind, kVersionMinor, number, static_cast<std::uint32_t>(number - recording_)};
  auto segment = std::make_unique<Segment>(std::move(*output), header, row, options_.encoder);
  return segment;
}

// Somebody may set the clock while a recording runs: what the recording says of it last counts.
std::uint64_t StoreWriter::wall_now() const {
  if (watermark_ == kTimeMin) return wall_clock_ns_;
  if (const std::uint64_t told = info_.wall_of(watermark_); told != 0) return told;
  return wall_clock_ns_ + static_cast<std::uint64_t>(watermark_ - first_watermark_);
}

void StoreWriter::complain(const Status& status) {
  if (!status && problem_.empty()) problem_ = status.error().message;
}

// A round is over: what went wrong in it is what is known to be wrong.
void StoreWriter::settle_problem() {
  CatalogueKeeper::News news = keeper_->news();
  for (const std::string& what : news.removed) {
    if (options_.on_removed && !what.empty()) options_.on_removed(what);
  }
  if (problem_.empty()) problem_ = std::move(news.problem);
  for (const Segment* segment : {dictionary_.get(), data_.get()}) {
    if (problem_.empty()) problem_ = segment->writer.problem();
  }
  const bool changed = problem_.empty() != told_problem_.empty();
  told_problem_ = std::exchange(problem_, {});
  if (changed && options_.on_problem) options_.on_problem(told_problem_);
}

std::uint64_t StoreWriter::data_segment() const {
  return data_->row(false).number;
}

profile::ProfileSink& StoreWriter::data() {
  return data_->encoder;
}
profile::ProfileSink& StoreWriter::dictionary() {
  return dictionary_->encoder;
}

void StoreWriter::on_recording(const profile::RecordingInfo& info) {
  info_ = info;
  notes_.recording(info);
  data().on_recording(info);
}

void StoreWriter::on_process(const profile::ProcessRecord& process) {
  notes_.process(process);
  dictionary().on_process(process);
}

void StoreWriter::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  notes_.entry({process, EntryKind::kProcess, 0}, "");
  dictionary().on_thread(process, tid, name);
}

void StoreWriter::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  notes_.entry({process, EntryKind::kProcess, 0}, "");
  dictionary().on_component(process, id, name);
}

void StoreWriter::on_mapping(const profile::MappingRecord& mapping) {
  if (mapping.process == ProcessId{}) return on_kernel_code(mapping);
  notes_.entry({mapping.process, EntryKind::kProcess, 0}, "");
  dictionary().on_mapping(mapping);
}

// In data segments, which have all of it from their begin on: no sample names it.
void StoreWriter::on_kernel_code(const profile::MappingRecord& mapping) {
  const std::uint64_t end = mapping.begin + mapping.size;
  (void)kernel_code_.cut(mapping.begin, end);
  if (!mapping.path.empty()) kernel_code_.put(mapping.begin, {end, mapping.path});
  data().on_mapping(mapping);
}

void StoreWriter::on_names(const profile::FileNames& names) {
  data().on_names(names);
}

void StoreWriter::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  notes_.entry({process, EntryKind::kProcess, 0}, "");
  dictionary().on_region_kind(process, kind);
}

void StoreWriter::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  notes_.entry({process, EntryKind::kPlan, plan.id()}, to_utf8(plan.name()));
  notes_.plan(loaded, plan);
  dictionary().on_plan(process, loaded, plan);
}

void StoreWriter::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  notes_.entry({process, EntryKind::kCode, code.id()}, "");
  notes_.code(loaded, code);
  dictionary().on_code(process, loaded, code);
}

// Where they are made elsewhere. Those that were made before are taken first, so that they do not add up.
void StoreWriter::on_shared_plan(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::Plan> plan) {
  if (!options_.own_thread) return on_plan(process, loaded, *plan);
  take_large();
  large_.add(process, loaded, std::move(plan));
}

void StoreWriter::on_shared_code(ProcessId process, TimeNs loaded,
                                 std::shared_ptr<const v1::CodeObject> code) {
  if (!options_.own_thread) return on_code(process, loaded, *code);
  take_large();
  large_.add(process, loaded, std::move(code));
}

// Samples that name them may lie in an earlier data segment by now.
void StoreWriter::take_large() {
  for (LargeBlocks::Made& made : large_.take()) {
    if (made.readable) notes_.entry(made.key, made.name);
    notes_.late(made.loaded);
    dictionary_->block(std::move(made.block), made.readable, made.key.process);
  }
  for (const Unload& each : std::exchange(unloads_, {})) on_code_unload(each.process, each.time, each.code);
}

void StoreWriter::on_code_unload(ProcessId process, TimeNs time, CodeId code) {
  if (large_.has({process, EntryKind::kCode, code})) return unloads_.push_back({process, time, code});
  notes_.entry({process, EntryKind::kProcess, 0}, "");
  dictionary().on_code_unload(process, time, code);
}

void StoreWriter::on_execution(const profile::ExecutionRecord& execution) {
  if (unsampled_ != nullptr) return unsampled_->execution(execution);
  write_execution(execution);
}

void StoreWriter::write_execution(const profile::ExecutionRecord& execution) {
  notes_.execution(execution);
  if (execution.end == kTimeMax) {
    live_executions_[{execution.process, execution.handle}] = execution;
  } else {
    live_executions_.erase({execution.process, execution.handle});
  }
  data().on_execution(execution);
}

void StoreWriter::on_samples(std::span<const profile::SampleRecord> samples) {
  if (unsampled_ != nullptr) unsampled_->samples(samples);
  notes_.samples(samples);
  data().on_samples(samples);
}

void StoreWriter::on_activity(std::span<const profile::ActivityRecord> records) {
  data().on_activity(records);
}

void StoreWriter::on_accounting(const profile::Accounting& accounting) {
  accounting_[accounting.process] = {accounting, true};
  data().on_accounting(accounting);
}

void StoreWriter::on_watermark(TimeNs watermark) {
  watermark_ = watermark;
  if (unsampled_ != nullptr) unsampled_->watermark(watermark);
  data().on_watermark(watermark);
  if (first_watermark_ == kTimeMin) {
    first_watermark_ = entered_ = synced_ = flushed_ = tidied_ = segment_began_ = watermark;
    return;
  }
  if (watermark - flushed_ >= options_.flush_interval) flush_segments();
  if (watermark - entered_ < options_.encoder.flush_interval) return;
  (void)enter_in_catalogue();
  roll_where_due();
  settle_problem();
}

// Dictionaries reach their file before the samples that need them, and both before the catalogue speaks of
// them.
void StoreWriter::flush_segments() {
  take_large();
  for (Segment* segment : {dictionary_.get(), data_.get()}) {
    segment->writer.retry();
    segment->encoder.flush();
  }
  flushed_ = watermark_;
}

CatalogueBatch StoreWriter::take_batch() {
  CatalogueBatch batch;
  batch.notes = notes_.take();
  const SegmentRow data = data_->row(false), dictionary = dictionary_->row(false);
  batch.data = data.number;
  batch.dictionary = dictionary.number;
  batch.rows = {{data.number, data}, {dictionary.number, dictionary}};
  return batch;
}

CatalogueKeeper::Ticket StoreWriter::hand_over(CatalogueBatch batch) {
  for (Segment* segment : {dictionary_.get(), data_.get()})
    batch.add_parts(segment->row(false).number, segment->take_parts());
  return keeper_->give(std::move(batch), {watermark_, wall_now()});
}

CatalogueKeeper::Ticket StoreWriter::enter_in_catalogue() {
  constexpr TimeNs kBetweenTidying = 20'000'000'000;
  flush_segments();
  entered_ = watermark_;
  CatalogueBatch batch = take_batch();
  if (watermark_ - synced_ >= options_.sync_interval) {
    batch.to_sync = {{batch.data, data_->writer.output()}, {batch.dictionary, dictionary_->writer.output()}};
    synced_ = watermark_;
  }
  batch.tidy = watermark_ - tidied_ >= kBetweenTidying;
  if (batch.tidy) tidied_ = watermark_;
  // An idle host writes nothing: blocks without samples are no news.
  const bool is_news = data_->take_news() || !batch.notes.is_empty();
  if (!is_news && !batch.tidy && batch.to_sync.empty() && keeper_->is_settled()) return keeper_->last();
  return hand_over(std::move(batch));
}

Result<CatalogueKeeper::Ticket> StoreWriter::begin_flush() {
  if (unsampled_ != nullptr) unsampled_->give_sums();
  const CatalogueKeeper::Ticket ticket = enter_in_catalogue();
  for (const Segment* segment : {dictionary_.get(), data_.get()}) {
    if (!segment->writer.problem().empty()) return internal(segment->writer.problem());
  }
  return ticket;
}

Status StoreWriter::flush() {
  large_.wait();
  const auto begun = begin_flush();
  Status entered = begun ? wait_for(*begun) : begun.error();
  settle_problem();
  if (!told_problem_.empty()) return internal(told_problem_);
  return entered;
}

void StoreWriter::roll(std::unique_ptr<Segment>& segment, FileKind kind) {
  // What could not be written yet belongs into the old one.
  if (!segment->writer.problem().empty()) return;
  auto next = create_segment(kind);
  if (!next) {
    complain(next.error());  // the old one goes on growing until there is room for another
    return;
  }
  segment->encoder.finish();
  const Status ended = segment->writer.end();
  complain(ended);
  CatalogueBatch batch = take_batch();
  // One that is not sealed is read again at the next start.
  const SegmentRow sealed = segment->row(ended.ok()), begun = (*next)->row(false);
  batch.rows[sealed.number] = sealed;
  batch.rows[begun.number] = begun;
  batch.to_sync = {{sealed.number, segment->writer.output()}};
  batch.add_parts(sealed.number, segment->take_parts());
  batch.retain = true;
  add(sealed_stats_, segment->writer.stats());
  segment = std::move(*next);
  hand_over(std::move(batch));
  if (kind == FileKind::kDataSegment) begin_data_segment();
}

void StoreWriter::begin_data_segment() {
  notes_.next_data_segment();
  segment_began_ = watermark_;
  data().on_watermark(watermark_);
  data().on_recording(info_);
  for (const auto& [begin, range] : kernel_code_.all())
    data().on_mapping({{}, watermark_, begin, range.end - begin, 0, range.path});
  for (const auto& [key, execution] : live_executions_) {
    data().on_execution(execution);
    notes_.execution(execution);
  }
  // Totals of a process that does nothing any more are in the segments where it did. But what was lost in a
  // segment is the difference of totals, of a process that comes back too.
  constexpr std::size_t kMostThatLost = 4096;
  const bool many = accounting_.size() > kMostThatLost;
  std::erase_if(accounting_, [many](const auto& each) {
    return !each.second.changed && (many || !has_losses(each.second.accounting));
  });
  for (auto& [process, totals] : accounting_) {
    totals.changed = false;
    data().on_accounting(totals.accounting);
  }
  // In a block of their own, that the watermark ends: totals as they were when the segment began.
  data_->encoder.flush();
}

void StoreWriter::roll_where_due() {
  if (dictionary_->writer.stats().bytes >= options_.dictionary_bytes) {
    roll(dictionary_, FileKind::kDictionarySegment);
  }
  const bool long_enough =
      watermark_ - segment_began_ >= options_.segment_time && data_->writer.stats().samples > 0;
  if (data_->writer.stats().bytes >= options_.segment_bytes || long_enough) {
    roll(data_, FileKind::kDataSegment);
  }
}

WriteStats StoreWriter::stats() const {
  WriteStats sum = sealed_stats_;
  add(sum, data_->writer.stats());
  add(sum, dictionary_->writer.stats());
  return sum;
}

Status StoreWriter::finish() {
  keeper_->wait_for_readers(true);
  if (unsampled_ != nullptr) unsampled_->end();
  Status first = flush();
  const auto note = [&first](Status status) {
    if (first && !status) first = std::move(status);
  };
  CatalogueBatch batch = take_batch();
  for (Segment* segment : {dictionary_.get(), data_.get()}) {
    segment->encoder.finish();
    note(segment->writer.finish());
    const SegmentRow row = segment->row(first.ok());
    batch.rows[row.number] = row;
  }
  note(keeper_->wait(hand_over(std::move(batch))));
  if (!first) return first;
  const WriteStats total = stats();
  if (total.lost_blocks == 0) return Ok{};
  return internal(fmt::format("{} blocks with {} samples could not be written ({})", total.lost_blocks,
                              total.lost_samples, total.loss_reason));
}

}  // namespace tailor::store
