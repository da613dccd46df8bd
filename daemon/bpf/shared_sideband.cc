#include "daemon/bpf/shared_sideband.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/host/perf_recording.h"
#include "daemon/os/host_files.h"

namespace tailor::bpf {

using capture::CaptureOptions;
using capture::RingChunk;
using capture::RingLayout;

namespace {

constexpr std::size_t kHeader = sizeof(perf_event_header);

// One record, as far as it takes to give it out. Type 0: what cannot be understood.
struct Record {
  std::uint32_t type = 0;
  std::span<const std::byte> bytes;
  // Words of its body: of a FORK or an EXIT the process, its parent, and the thread.
  std::int32_t first = 0, second = 0, third = 0;
};

Record first_record(std::span<const std::byte> bytes) {
  perf_event_header header{};
  if (bytes.size() < kHeader) return {0, bytes};
  std::memcpy(&header, bytes.data(), kHeader);
  if (header.size < kHeader || header.size > bytes.size()) return {0, bytes};
  capture::ByteCursor body(bytes.subspan(kHeader, header.size - kHeader));
  Record record{header.type, bytes.first(header.size)};
  record.first = body.i32();
  record.second = body.i32();
  record.third = body.i32();
  return record;
}

bool names_process(std::uint32_t type) {
  return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
         type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT;
}

CaptureOptions of_all_cpus(const CaptureOptions& options) {
  CaptureOptions all;
  all.events = {capture::sideband_only()};
  all.events.back().address = capture::wants_memory_map(options);
  all.ring_bytes = options.ring_bytes;
  return all;
}

}  // namespace

// The records of one process, as a recording.
class SidebandMember : public capture::Recording {
 public:
  SidebandMember(std::shared_ptr<SharedSideband> shared, SharedSideband::MemberNumber number, pid_t pid,
                 std::size_t rings, std::vector<std::string> notes)
      : shared_(std::move(shared)),
        number_(number),
        pid_(pid),
        told_(rings, false),
        notes_(std::move(notes)) {}
  ~SidebandMember() override { shared_->remove(number_); }
  SidebandMember(const SidebandMember&) = delete;
  SidebandMember& operator=(const SidebandMember&) = delete;

  pid_t pid() const override { return pid_; }
  const std::vector<profile::Source>& sources() const override { return sources_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::size_t ring_count() const override { return told_.size(); }
  void number_rings(capture::RingIndex first) override { first_ = first; }
  bool set_enabled(bool) override { return true; }  // others need the records
  int poll_fd(std::size_t) const override { return -1; }
  int next_poll_fd(std::size_t) override { return -1; }

  void drain(capture::ChunkSink& sink) override { take(sink, false); }
  void finish(capture::ChunkSink& sink) override {
    take(sink, true);
    for (std::size_t i = 0; i < told_.size(); ++i)
      sink.on_ring_closed(first_ + static_cast<capture::RingIndex>(i));
  }
  capture::CaptureCounts counts() override { return counts_; }

 private:
  capture::RingIndex ring_of(std::size_t index) const {
    return first_ + static_cast<capture::RingIndex>(index);
  }
  void take(capture::ChunkSink& sink, bool all) {
    const bool knows_rings = std::ranges::find(told_, false) == told_.end();
    SharedSideband::Taken taken = shared_->take(number_, {.all = all, .layouts = !knows_rings});
    for (std::size_t i = 0; i < told_.size() && i < taken.layouts.size(); ++i) {
      RingLayout layout = taken.layouts[i];
      layout.ring = ring_of(i);
      layout.pid = pid_;
      layout.shared = true;
      if (!std::exchange(told_[i], true)) sink.on_ring(layout);
    }
    for (std::size_t i = 0; i < taken.records.size(); ++i) {
      counts_.bytes += taken.records[i].size();
      if (!taken.records[i].empty()) sink.on_chunk({ring_of(i), std::move(taken.records[i])});
    }
    counts_.lost = counts_.lost_said = taken.lost;
  }

  std::shared_ptr<SharedSideband> shared_;
  SharedSideband::MemberNumber number_;
  pid_t pid_;
  std::vector<char> told_;  // by ring
  std::vector<profile::Source> sources_;
  std::vector<std::string> notes_;
  capture::RingIndex first_ = 0;
  capture::CaptureCounts counts_;
};

// Keeps what a read brings until all of it is there.
class SharedSideband::Collector : public capture::ChunkSink {
 public:
  explicit Collector(std::vector<RingLayout>& layouts) : layouts_(layouts) {}
  void on_ring(const RingLayout& layout) override {
    if (layout.ring >= layouts_.size()) layouts_.resize(layout.ring + 1);
    layouts_[layout.ring] = layout;
  }
  void on_chunk(RingChunk&& chunk) override { chunks.push_back(std::move(chunk)); }
  void on_round(TimeNs) override {}
  void on_ring_closed(capture::RingIndex) override {}

  std::vector<RingChunk> chunks;

 private:
  std::vector<RingLayout>& layouts_;
};

bool can_share_sideband(const CaptureOptions& options) {
  return !options.enable_on_exec && !options.context_switches &&
         options.placement == capture::Placement::kAuto;
}

Result<std::shared_ptr<SharedSideband>> SharedSideband::start(os::Os& os, const CaptureOptions& options) {
  std::shared_ptr<SharedSideband> shared(new SharedSideband(os));
  shared->options_ = of_all_cpus(options);
  auto rings = capture::PerfRecording::open(os, capture::kAllProcesses, shared->options_);
  if (!rings) return rings.error();
  shared->rings_ = std::move(*rings);
  shared->rings_->number_rings(0);
  shared->layouts_.resize(shared->rings_->ring_count());
  return shared;
}

bool SharedSideband::suits(const CaptureOptions& options) const {
  return options.ring_bytes == options_.ring_bytes &&
         capture::wants_memory_map(options) == options_.events.back().address;
}

std::unique_ptr<capture::Recording> SharedSideband::add(pid_t pid, const CaptureOptions& options) {
  std::lock_guard lock(mutex_);
  read();  // what came before is nobody's
  const MemberNumber number = next_++;
  members_[number] = {.pid = pid, .follows = options.follow_children};
  members_[number].records.resize(rings_->ring_count());
  owners_[pid] = number;
  if (options.follow_children) {
    std::vector<pid_t> roots = options.followed;
    roots.push_back(pid);
    for (pid_t child : os::family_of(os_, roots)) owners_.try_emplace(child, number);
  }
  return std::make_unique<SidebandMember>(shared_from_this(), number, pid, rings_->ring_count(),
                                          options.reasons);
}

void SharedSideband::remove(MemberNumber number) {
  std::lock_guard lock(mutex_);
  members_.erase(number);
  std::erase_if(owners_, [number](const auto& each) { return each.second == number; });
}

// Members take one after the other: what was read for the first is there for the others.
SharedSideband::Taken SharedSideband::take(MemberNumber number, const Wanted& wanted) {
  std::lock_guard lock(mutex_);
  const auto found = members_.find(number);
  if (found == members_.end()) return {};
  if (wanted.all || !found->second.fresh) {
    read();
    for (auto& [other, each] : members_) each.fresh = true;
  }
  Member& member = found->second;
  member.fresh = false;
  Taken taken{{}, {}, member.lost};
  if (wanted.layouts) taken.layouts = layouts_;
  if (std::exchange(member.has_records, false)) {
    taken.records = std::move(member.records);
    member.records.assign(layouts_.size(), {});
  }
  return taken;
}

// What a FORK record of one CPU says holds for the records of all.
void SharedSideband::read() {
  Collector collector(layouts_);
  rings_->drain(collector);
  for (const RingChunk& chunk : collector.chunks) learn(chunk.bytes);
  for (const RingChunk& chunk : collector.chunks) give_out(chunk.ring, chunk.bytes);
  for (const RingChunk& chunk : collector.chunks) forget(chunk.bytes);
}

// The number of a child that has ended may be another's.
void SharedSideband::forget(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const Record record = first_record(bytes);
    bytes = bytes.subspan(record.bytes.size());
    if (record.type != PERF_RECORD_EXIT || record.first != record.third) continue;
    const auto owner = owners_.find(record.first);
    if (owner != owners_.end() && members_.at(owner->second).pid != record.first) owners_.erase(owner);
  }
}

void SharedSideband::learn(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const Record record = first_record(bytes);
    bytes = bytes.subspan(record.bytes.size());
    if (record.type != PERF_RECORD_FORK || record.first == record.second) continue;
    const auto parent = owners_.find(record.second);
    if (parent != owners_.end() && members_.at(parent->second).follows)
      owners_.try_emplace(record.first, parent->second);
  }
}

void SharedSideband::give_out(capture::RingIndex ring, std::span<const std::byte> bytes) {
  const auto give = [ring](Member& to, std::span<const std::byte> record) {
    std::vector<std::byte>& out = to.records[ring];
    out.insert(out.end(), record.begin(), record.end());
    to.has_records = true;
  };
  while (!bytes.empty()) {
    const Record record = first_record(bytes);
    bytes = bytes.subspan(record.bytes.size());
    if (names_process(record.type)) {
      const auto owner = owners_.find(record.first);
      if (owner != owners_.end()) give(members_.at(owner->second), record.bytes);
      continue;
    }
    // Losses may be anybody's.
    for (auto& [number, member] : members_) {
      give(member, record.bytes);
      if (record.type != PERF_RECORD_LOST || record.bytes.size() < kHeader + 2 * sizeof(std::uint64_t))
        continue;
      std::uint64_t lost = 0;
      std::memcpy(&lost, record.bytes.data() + kHeader + sizeof lost, sizeof lost);
      member.lost += lost;
    }
  }
}

}  // namespace tailor::bpf
