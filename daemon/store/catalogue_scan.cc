#include "daemon/store/catalogue_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <vector>

#include "daemon/profile/bytes_held.h"
#include "daemon/store/catalogue_notes.h"
#include "daemon/store/catalogue_upgrade.h"
#include "daemon/store/process_weights.h"
#include "daemon/store/profile_reader.h"
#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

class ScanSink : public profile::ProfileSink {
 public:
  // `write` enters the notes. It is called where they have become many, too.
  explicit ScanSink(std::function<Status(const CatalogueNotes&)> write) : write_(std::move(write)) {}

  // What remains to be entered, too.
  Status finish() {
    enter();
    return status_;
  }

  void on_recording(const profile::RecordingInfo& info) override {
    weights.add({}, kRecord);
    notes.recording(info);
    if (info_.wall_clock_ns == 0) info_ = info;
  }
  void on_process(const profile::ProcessRecord& v) override {
    weights.add(v.process, kRecord);
    notes.process(v);
    enter_if_many();
  }
  void on_thread(ProcessId p, std::int32_t, const std::string&) override { process_entry(p); }
  void on_component(ProcessId p, std::uint32_t, const std::string&) override { process_entry(p); }
  void on_mapping(const profile::MappingRecord& v) override {
    if (v.process == ProcessId{}) return weights.add({}, kRecord);
    process_entry(v.process);
  }
  void on_region_kind(ProcessId p, const v1::RegionKind&) override { process_entry(p); }
  void on_code_unload(ProcessId p, TimeNs, CodeId) override { process_entry(p); }
  void on_plan(ProcessId p, TimeNs loaded, const v1::Plan& plan) override {
    weights.add(p, kRecord);
    notes.entry({p, EntryKind::kPlan, plan.id()}, plan.name());
    notes.plan(loaded, plan);
    enter_if_many();
  }
  void on_code(ProcessId p, TimeNs loaded, const v1::CodeObject& code) override {
    weights.add(p, kRecord);
    notes.entry({p, EntryKind::kCode, code.id()}, code.name());
    notes.code(loaded, code);
    enter_if_many();
  }
  void on_execution(const profile::ExecutionRecord& v) override {
    weights.add(v.process, kRecord + profile::bytes_held(v));
    notes.execution(v);
    enter_if_many();
  }
  void on_samples(std::span<const profile::SampleRecord> all) override {
    notes.samples(all);
    for (const profile::SampleRecord& s : all) {
      cover(s.time);
      weights.add(s.process, 1);
    }
    samples += all.size();
    enter_if_many();
  }
  void on_activity(std::span<const profile::ActivityRecord> all) override {
    for (const profile::ActivityRecord& r : all) {
      cover(r.time);
      weights.add(r.process, 1);
    }
  }
  void on_names(const profile::FileNames& v) override { weights.add({}, kRecord * (1 + v.functions.size())); }
  void on_accounting(const profile::Accounting& v) override { weights.add(v.process, kRecord); }
  void on_watermark(TimeNs) override { weights.add({}, kRecord); }

  // When the segment began; of one without samples, when its recording did.
  std::uint64_t wall_ns() const { return first == kTimeMax ? info_.wall_clock_ns : info_.wall_of(first); }

  // As CatalogueNotes::late_since(), of the whole segment.
  TimeNs late_since() const { return std::min(late_since_, notes.late_since()); }

  CatalogueNotes notes;
  ProcessWeights weights;  // of the block that was read last
  TimeNs first = kTimeMax, last = kTimeMin;
  std::uint64_t samples = 0;

 private:
  static constexpr std::size_t kRecord = 64;  // bytes of a small one, about

  void process_entry(ProcessId process) {
    weights.add(process, kRecord);
    notes.entry({process, EntryKind::kProcess, 0}, "");
  }
  void cover(TimeNs time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }

  void enter_if_many() {
    constexpr std::size_t kMany = 16u << 20;
    if (notes.bytes() >= kMany) enter();
  }
  void enter() {
    if (status_) status_ = write_(notes);
    late_since_ = late_since();
    notes.forget();
  }

  std::function<Status(const CatalogueNotes&)> write_;
  Status status_ = Ok{};
  TimeNs late_since_ = kTimeMax;
  profile::RecordingInfo info_;  // as it was first told
};

// At the start nobody waits, so everything that is too much goes at once.
constexpr std::uint64_t kAnyRows = UINT64_MAX;

// A dictionary with what data segments of its recording, from a time on, may need without saying so.
struct LateDictionary {
  RecordingNumber recording = 0;
  TimeNs since = 0;
  std::uint64_t number = 0;
};

Status scan(const std::string& directory, const SegmentFile& file, Catalogue& catalogue,
            const CatalogueLimit& limit, std::vector<LateDictionary>& late) {
  auto input = open_file(segment_path(directory, file.number, file.kind));
  if (!input) return input.error();
  std::array<std::uint8_t, kFileHeaderSize> head{};
  auto got = (*input)->read_at(0, head);
  if (!got) return got.error();
  const auto header = decode_file_header(std::span(head).first(*got));
  if (!header && header.error().code == ENOTSUP)
    return in_context(segment_path(directory, file.number, file.kind) + ": ", header.error());
  if (!header || header->recording >= file.number) return Ok{};  // never got its header, or is none of ours
  const RecordingNumber recording = file.number - header->recording;
  const bool data = file.kind == FileKind::kDataSegment;
  if (auto ok = catalogue.forget_contents(file.number); !ok) return ok;
  CatalogueBudget budget(limit.bytes);
  ScanSink sink([&](const CatalogueNotes& notes) {
    Status written = notes.write(catalogue, {recording, data ? file.number : 0, data ? 0 : file.number});
    return written ? budget.make_room(catalogue, kAnyRows, limit.wall_ns) : written;
  });
  ReadReport report;
  SaidLoss loss;
  BytesOfProcesses parts;
  std::uint64_t counted = 0;
  const auto count_block = [&](std::uint64_t read) -> Status {
    add_parts_of(read - counted, sink.weights.take(), parts);
    counted = read;
    return Ok{};
  };
  if (auto ok = read_profile(**input, sink, report, loss, count_block); !ok) return ok;
  if (auto ok = sink.finish(); !ok) return ok;
  for (const auto& [process, bytes] : parts) {
    if (auto ok = catalogue.add_part(recording, file.number, process, bytes); !ok) return ok;
  }
  if (!data && sink.late_since() != kTimeMax) late.push_back({recording, sink.late_since(), file.number});
  return catalogue.put_segment({file.number, file.kind, recording, sink.first, sink.last, file.bytes,
                                sink.samples, sink.wall_ns(), true});
}

}  // namespace

Status catalogue_segments(const std::string& directory, Catalogue& catalogue, const CatalogueLimit& limit) {
  auto files = list_segments(directory);
  if (!files) return files.error();
  auto rows = catalogue.segments();
  if (!rows) return rows.error();
  std::set<std::uint64_t> there;
  for (const SegmentFile& file : *files) there.insert(file.number);
  std::map<std::uint64_t, bool> sealed;
  for (const SegmentRow& row : *rows) sealed[row.number] = row.sealed;
  if (auto ok = catalogue.begin(); !ok) return ok;
  // What was not committed must not hold the next transaction up.
  struct Undo {
    Catalogue& catalogue;
    ~Undo() { catalogue.rollback(); }
  } undo{catalogue};
  for (const SegmentRow& row : *rows) {
    if (there.contains(row.number)) continue;
    // The sums that its samples are missing in are to count them.
    SegmentRow gone = row;
    gone.bytes = 0;
    const bool counts = row.sealed && row.kind == FileKind::kDataSegment;
    if (auto ok = counts ? catalogue.put_segment(gone) : catalogue.drop_segment(row.number); !ok) return ok;
  }
  std::vector<LateDictionary> late;
  // Dictionaries first: data segments are entered with the dictionaries that they use.
  for (FileKind kind : {FileKind::kDictionarySegment, FileKind::kDataSegment}) {
    for (const SegmentFile& file : *files) {
      if (file.kind != kind || sealed[file.number]) continue;
      if (auto ok = scan(directory, file, catalogue, limit, late); !ok) return ok;
    }
  }
  for (const LateDictionary& each : late) {
    if (auto ok = catalogue.put_use_since(each.recording, each.since, each.number); !ok) return ok;
  }
  // It may be of a program that knew no limit.
  if (auto ok = CatalogueBudget(limit.bytes).make_room(catalogue, kAnyRows, limit.wall_ns); !ok) return ok;
  return catalogue.commit();
}

Result<Catalogue> open_for_writing(const std::string& directory, os::Files& files,
                                   const std::function<void(const std::string& what)>& on_put_aside,
                                   const CatalogueLimit& limit) {
  const std::string path = catalogue_path(directory);
  // SQLite would make one that everybody may read, and gives its journal the same mode.
  if (auto own = make_private_file(path); !own) return own.error();
  // It is of use without checksums. What is wrong with one that is damaged is said below.
  const Status upgraded = upgrade_catalogue(path, files);
  auto catalogue = Catalogue::open(path, Catalogue::Mode::kWrite);
  if (catalogue && !upgraded && on_put_aside) {
    on_put_aside(fmt::format("{} stays without checksums until tailord is started again: {}", path,
                             upgraded.error().message));
  }
  Status whole = catalogue ? catalogue_segments(directory, *catalogue, limit) : Status(catalogue.error());
  if (whole) return catalogue;
  // Of a newer program: it is not ours to change.
  if (whole.error().code == ENOTSUP) return in_context(directory + ": ", whole.error());
  // Another program reads it, or the disk has no room to bring it up to date: it is as good as before.
  if (whole.error().code == EBUSY || whole.error().code == ENOSPC) return whole.error();
  const Status aside = files.rename(path, path + ".bad");
  if (!aside) return in_context(whole.error().message + "; it cannot be renamed: ", aside.error());
  if (on_put_aside) {
    on_put_aside(fmt::format("{}; it is {}.bad now, and the catalogue is made again from the segments",
                             whole.error().message, path));
  }
  (void)files.remove(path + "-journal");
  if (auto own = make_private_file(path); !own) return own.error();
  auto fresh = Catalogue::open(path, Catalogue::Mode::kWrite);
  if (!fresh) return fresh.error();
  if (auto ok = catalogue_segments(directory, *fresh, limit); !ok) return ok.error();
  return fresh;
}

}  // namespace tailor::store
