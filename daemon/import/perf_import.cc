#include "daemon/import/perf_import.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/formats/perf_data.h"
#include "daemon/formats/perf_event_name.h"
#include "daemon/formats/perf_kernel.h"
#include "daemon/import/agent_words.h"
#include "daemon/import/jit_names.h"
#include "daemon/import/observing_sink.h"
#include "daemon/pipeline/pipeline.h"
#include "proto/base/errors.h"

namespace tailor::importer {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;
constexpr capture::RingIndex kRing = 0;
constexpr const char* kKernelPath = "[kernel.kallsyms]";  // as perf has it

bool has_our_clock(const std::vector<formats::PerfAttr>& events) {
  return std::ranges::all_of(events, [](const formats::PerfAttr& event) {
    return event.attr.use_clockid && event.attr.clockid == CLOCK_MONOTONIC_RAW;
  });
}

// The kernel's records to the pipeline, behind the watermark that perf's rounds give.
class Feeding : public formats::PerfRecords::Taker {
 public:
  // `words`: NULL, or what agents said meanwhile.
  Feeding(pipeline::Pipeline& pipeline, ObservingSink& sink, profile::RecordingInfo& info,
          std::uint8_t tag_register, AgentWords* words)
      : pipeline_(pipeline), sink_(sink), info_(info), tag_register_(tag_register), words_(words) {}

  Status use_events(std::vector<formats::PerfAttr> events) {
    for (formats::PerfAttr& each : events) {
      if (Status added = event(std::move(each)); !added) return added;
    }
    return tell_events();
  }
  Status kernel_records(formats::PerfBytes bytes) override {
    if (events_.empty()) return internal("perf.data: a record comes before the event it belongs to");
    // perf tells of the kernel first.
    if (kernel_anchor.empty() && ++looks_ <= kMostLooks) kernel_anchor = formats::kernel_anchor_in(bytes);
    // Events and their names come one by one in front of the records.
    if (Status told = tell_events(); !told) return told;
    chunk_.ring = kRing;
    chunk_.bytes.assign(bytes.begin(), bytes.end());
    pipeline_.on_chunk(chunk_);
    return Ok{};
  }
  Status event(formats::PerfAttr attr) override {
    ids_ += attr.ids.size();
    if (Status few = formats::check_perf_counts(events_.size() + 1, ids_); !few) return few;
    if (attr.name.empty()) attr.name = formats::event_name(attr.attr);
    for (std::uint64_t id : attr.ids) event_of_.try_emplace(id, events_.size());
    events_.push_back(std::move(attr));
    told_ = false;
    return Ok{};
  }
  void event_name(std::uint64_t id, std::string name) override {
    const auto known = event_of_.find(id);
    if (known == event_of_.end()) return;
    events_[known->second].name = std::move(name);
    told_ = false;
  }
  void described(const formats::PerfDescription& so_far) override { describe(so_far); }
  // What comes from now on is not older than the newest record before the last round.
  Status round() override {
    if (before_ != kTimeMin) {
      if (Status done = flush(before_); !done) return done;
    }
    before_ = pipeline_.newest();
    return Ok{};
  }
  // Everything up to that time was given.
  Status flush(TimeNs time) {
    if (words_ != nullptr) {
      if (Status told = words_->tell_until(pipeline_, time); !told)
        return in_context("the dictionary: ", told.error());
    }
    pipeline_.flush(time);
    return Ok{};
  }

  void describe(const formats::PerfDescription& text) {
    for (const formats::PerfBuildId& id : text.build_ids) sink_.add_build_id(id.path, id.build_id);
    const auto said = [](std::string& to, const std::string& from) {
      if (!from.empty()) to = from;
    };
    said(description.host, text.host);
    said(description.kernel, text.kernel);
    said(description.cpu, text.cpu);
    said(description.arch, text.arch);
    for (const formats::PerfBuildId& id : text.build_ids) {
      if (id.path == kKernelPath) kernel_build_id = id.build_id;
    }
    said(description.command, text.command);
    if (text.cpus != 0) description.cpus = text.cpus;
    if (text.wall_ns != 0) {
      description.wall_ns = text.wall_ns;
      description.clock_ns = text.clock_ns;
      description.clock_id = text.clock_id;
    }
  }
  const std::vector<formats::PerfAttr>& events() const { return events_; }
  std::uint64_t layouts() const { return tellings_; }

  formats::PerfDescription description;
  std::string kernel_anchor, kernel_build_id;  // as in RecordingInfo

 private:
  static constexpr int kMostLooks = 64;  // for it
  Status tell_events() {
    if (told_) return Ok{};
    told_ = true;
    if (words_ != nullptr && !has_our_clock(events_))
      return invalid(
          "perf.data: its times are not those of the dictionary; record with perf record -k "
          "CLOCK_MONOTONIC_RAW");
    ++tellings_;
    const capture::RingLayout made = formats::perf_data_layout(events_, tag_register_, info_.sources);
    capture::RingLayout layout = made;
    layout.ring = kRing;
    layout.pid = 0;  // of no process in particular
    pipeline_.on_recording(info_);
    const std::uint64_t refused = pipeline_.stats().refused_rings;
    pipeline_.on_ring(layout);
    if (pipeline_.stats().refused_rings == refused) return Ok{};
    const auto problems = pipeline_.take_problems();
    return internal("perf.data: " +
                    (problems.empty() ? "its events contradict each other" : problems.back().text));
  }

  pipeline::Pipeline& pipeline_;
  ObservingSink& sink_;
  profile::RecordingInfo& info_;
  std::uint8_t tag_register_;
  AgentWords* words_;
  std::vector<formats::PerfAttr> events_;
  std::unordered_map<std::uint64_t, std::size_t> event_of_;  // by id
  std::size_t ids_ = 0;
  bool told_ = true;  // the pipeline knows all events
  std::uint64_t tellings_ = 0;
  int looks_ = 0;
  capture::RingChunk chunk_;
  TimeNs before_ = kTimeMin;
};

formats::PerfReadAt reader_of(store::Input& file) {
  return [&file](std::uint64_t offset, std::uint64_t size) -> Result<std::vector<std::byte>> {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    std::size_t have = 0;
    while (have < bytes.size()) {
      auto* at = reinterpret_cast<std::uint8_t*>(bytes.data()) + have;
      auto got = file.read_at(offset + have, {at, bytes.size() - have});
      if (!got) return got.error();
      if (*got == 0) break;
      have += *got;
    }
    bytes.resize(have);
    return bytes;
  };
}

Status read_records(const formats::PerfHeader& header, const formats::PerfReadAt& read,
                    formats::PerfRecords& records, const PerfImportOptions& options) {
  std::uint64_t done = 0;
  while (done < header.records.size) {
    auto piece =
        read(header.records.offset + done, std::min<std::uint64_t>(kPiece, header.records.size - done));
    if (!piece) return piece.error();
    if (piece->empty()) break;
    Status fed = records.feed(*piece);
    if (!fed) return fed;
    done += piece->size();
    if (options.progress) options.progress(header.records.offset + done);
  }
  records.finish();
  return Ok{};
}

// Times that jitdumps give are of CLOCK_MONOTONIC.
bool is_monotonic(const std::vector<formats::PerfAttr>& events) {
  return std::ranges::all_of(events, [](const formats::PerfAttr& event) {
    return event.attr.use_clockid && event.attr.clockid == CLOCK_MONOTONIC;
  });
}

// Without clock data the last record was made when the file was written, or before.
void set_times(const formats::PerfDescription& text, const ObservingSink& sink, std::int64_t written_ns,
               const AgentWords* words, profile::RecordingInfo& info) {
  if (sink.first_time() == kTimeMax) return;
  if (words != nullptr) info.wall_clock_ns = info.wall_of(sink.first_time());
  info.start = sink.first_time();
  if (words != nullptr) return;
  const TimeNs length = sink.last_time() - sink.first_time();
  if (text.wall_ns != 0) {
    info.wall_clock_ns = text.wall_ns + static_cast<std::uint64_t>(info.start) - text.clock_ns;
  } else if (written_ns > length) {
    info.wall_clock_ns = static_cast<std::uint64_t>(written_ns - length);
  }
}

void describe(const formats::PerfDescription& text, profile::RecordingInfo& info) {
  info.host = text.host;
  info.kernel = text.kernel;
  info.cpu = text.cpu;
  info.command = text.command;
  info.cpus = text.cpus;
  info.machine = text.arch;
}

Status same_host(const profile::RecordingInfo& ours, const std::string& host) {
  if (host.empty() || ours.host.empty() || host == ours.host) return Ok{};
  return invalid(
      fmt::format("perf.data is of host {}, the dictionary of {}: pids and times are not the same there",
                  host, ours.host));
}

// What the dictionary holds, and whether it can be of any use.
void note_words(const AgentWords& words, const ObservingSink& sink, std::vector<std::string>& notes) {
  notes.push_back(
      fmt::format("the dictionary holds {} plans and {} pieces of code", words.plans(), words.codes()));
  const bool apart = sink.first_time() > words.last_time() || sink.last_time() < words.first_time();
  if (sink.samples() > 0 && apart)
    notes.push_back("no sample was taken while the dictionary was recorded: it cannot own any");
}

Result<std::optional<AgentWords>> words_of(store::Input* dictionary) {
  if (dictionary == nullptr) return std::optional<AgentWords>();
  auto opened = AgentWords::open(*dictionary);
  if (!opened) return opened.error();
  return std::optional<AgentWords>(*std::move(opened));
}

// The pipeline's clock, and the words of agents where there are any.
Status begin(pipeline::Pipeline& pipeline, AgentWords* words, profile::RecordingInfo& info) {
  if (words == nullptr) {
    clock::Conversion identity;
    identity.mult = 1;
    pipeline.on_clock(identity, false);
    return Ok{};
  }
  if (Status begun = words->begin(pipeline); !begun) return in_context("the dictionary: ", begun.error());
  info.start = words->recording().start;
  info.wall_clock_ns = words->recording().wall_clock_ns;
  return Ok{};
}

}  // namespace

Result<PerfImported> import_perf_data(store::Input& file, profile::ProfileSink& sink,
                                      const PerfImportOptions& options) {
  const formats::PerfReadAt read = reader_of(file);
  auto first = read(0, formats::kPerfHeaderBytes);
  if (!first) return first.error();
  auto header = formats::parse_perf_header(*first);
  if (!header) return header.error();

  auto words = words_of(options.dictionary);
  if (!words) return in_context("the dictionary: ", words.error());
  AgentWords* const said = *words ? &**words : nullptr;
  ObservingSink observed(sink);
  pipeline::PipelineOptions how;
  how.delay = 0;
  pipeline::Pipeline pipeline(observed, said != nullptr ? said->options() : how);
  profile::RecordingInfo info;
  info.sampling_notes = "imported from perf.data";
  info.clock_source = "perf";
  if (Status begun = begin(pipeline, said, info); !begun) return begun.error();
  Feeding feeding(pipeline, observed, info, options.tag_register, said);
  if (!header->pipe) {
    auto attrs = formats::read_perf_attrs(*header, read);
    if (!attrs) return attrs.error();
    feeding.describe(formats::read_perf_description(*header, read, *attrs));
    if (said != nullptr) {
      if (Status same = same_host(said->recording(), feeding.description.host); !same) return same.error();
    }
    Status used = feeding.use_events(*std::move(attrs));
    if (!used) return used.error();
  }
  formats::PerfRecords records(feeding);
  Status done = read_records(*header, read, records, options);
  if (!done) return done.error();
  if (Status flushed = feeding.flush(kTimeMax - 1); !flushed) return flushed.error();

  PerfImported out;
  out.description = feeding.description;
  describe(out.description, info);
  info.kernel_anchor = feeding.kernel_anchor;
  info.kernel_build_id = feeding.kernel_build_id;
  set_times(out.description, observed, options.written_ns, said, info);
  sink.on_recording(info);
  if (said != nullptr) note_words(*said, observed, out.notes);
  JitNames names(sink, is_monotonic(feeding.events()), out.notes);
  names.add(options, observed, info);
  out.jit_functions = names.functions();
  out.total = pipeline.total();
  out.layouts = feeding.layouts();
  out.samples = observed.samples();
  out.records_of_perf = records.tool_records();
  if (records.cut_bytes() > 0)
    out.notes.push_back(fmt::format("{} bytes at the end are no whole records", records.cut_bytes()));
  return out;
}

}  // namespace tailor::importer
