#include "daemon/import/perf_import.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/formats/perf_data.h"
#include "daemon/import/agent_words.h"
#include "daemon/import/jit_names.h"
#include "daemon/import/observing_sink.h"
#include "daemon/import/perf_feed.h"
#include "daemon/import/perf_streams.h"
#include "daemon/pipeline/pipeline.h"
#include "proto/base/errors.h"

namespace tailor::importer {
namespace {

constexpr std::size_t kMostMappings = std::size_t{1} << 20;

// Times that jitdumps give are of CLOCK_MONOTONIC.
bool is_monotonic(const std::vector<formats::PerfAttr>& events) {
  return std::ranges::all_of(events, [](const formats::PerfAttr& event) {
    return event.attr.use_clockid && event.attr.clockid == CLOCK_MONOTONIC;
  });
}

// Without clock data only this is known of the date: the last record was made when the file was written, or
// before. So the recording began then, less its length, or before.
void set_times(const formats::PerfDescription& text, const ObservingSink& sink, std::int64_t written_ns,
               const AgentWords* words, profile::RecordingInfo& info) {
  if (sink.first_time() == kTimeMax) return;
  if (words != nullptr) info.wall_clock_ns = info.wall_of(sink.first_time());
  info.start = sink.first_time();
  if (words != nullptr) return;
  const TimeNs length = sink.last_time() - sink.first_time();
  if (text.wall_ns != 0) {
    info.wall_clock_ns = text.wall_ns + static_cast<std::uint64_t>(info.start) - text.clock_ns;
  } else if (length >= 0 && written_ns > length) {
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

// What a live recording has to bound, a file bounds by its size.
pipeline::PipelineOptions options_of(const AgentWords* words) {
  pipeline::PipelineOptions how;
  if (words != nullptr) how = words->options();
  how.delay = 0;
  how.most_pending = 2 * PerfFeed::kMostHeldEvents;
  how.limits.mappings = std::max(how.limits.mappings, kMostMappings);
  return how;
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

// What is not there, or cannot be read, and where.
std::string damage_of(const formats::PerfHeader& header, const PerfReading& read) {
  std::string out;
  const auto say = [&out](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (header.unfinished)
    say("the recorder did not finish the file (was it killed?): its records are read to the end of the file, "
        "and what is written last is missing (host, build ids, names of events)");
  if (read.missing > 0 && !header.pipe && !header.unfinished) {
    say(fmt::format(
        "the file was cut: {} of the {} bytes of its records are missing, and what is written last",
        read.missing, header.records.size));
  } else if (read.missing > 0) {
    say(fmt::format("the file was cut: {} bytes of its last record are missing", read.missing));
  }
  if (read.broken)
    say(fmt::format("at byte {}{} there is no record: what follows cannot be read", read.broken_at,
                    read.broken_file.empty() ? "" : " of " + read.broken_file));
  if (read.cut > 0) say(fmt::format("the last {} bytes are the begin of a record", read.cut));
  return out;
}

void note_reading(const PerfFeed& feed, const profile::Accounting& total, std::vector<std::string>& notes) {
  const std::string& arch = feed.description().arch;
  if (!formats::is_x86(arch))
    notes.push_back(
        fmt::format("it was recorded on a machine of another architecture ({}): files of this one are other "
                    "files, and registers mean nothing here",
                    arch));
  if (feed.rewriter().timeless())
    notes.push_back(
        "its records have no time (perf record --per-thread): times are places in the file, one after the "
        "other, and no intervals");
  if (feed.rewriter().unknown_members() > 0)
    notes.push_back(fmt::format("{} counts of groups belong to no event that is known",
                                feed.rewriter().unknown_members()));
  if (feed.untold_losses() > 0)
    notes.push_back(
        fmt::format("the recorder counted {} lost samples of which no record tells: those of its end, and "
                    "with --switch-output those of the files before",
                    feed.untold_losses()));
  if (feed.losses().filtered() > 0)
    notes.push_back(fmt::format("a filter of the recording left out {} samples", feed.losses().filtered()));
  if (feed.forced() > 0)
    notes.push_back(fmt::format(
        "its records lie so far out of order that {} MB could not hold them: {} samples came late",
        PerfFeed::kMostHeldBytes >> 20, total.late));
}

Result<PerfReading> read_records(store::Input& file, const formats::PerfHeader& header,
                                 const PerfImportOptions& options, PerfFeed& feed) {
  PerfStreams streams(feed, header.order);
  streams.add(file, header.records, !header.pipe && !header.unfinished, "");
  for (const PerfPart& part : options.parts) streams.add(*part.file, {0, UINT64_MAX}, false, part.name);
  if (!options.parts.empty()) feed.ignore_rounds();
  // What was read, not where that lies: a file may put its records behind a hole of any size.
  auto read = streams.read(
      [&](std::uint64_t bytes) -> Status { return options.progress ? options.progress(bytes) : Ok{}; });
  if (!read) return read.error();
  if (Status done = feed.finish(); !done) return done.error();
  return read;
}

}  // namespace

Result<PerfImported> import_perf_data(store::Input& file, profile::ProfileSink& sink,
                                      const PerfImportOptions& options) {
  const formats::PerfReadAt read = [&file](std::uint64_t offset, std::uint64_t size) {
    return read_piece(file, offset, size);
  };
  auto first = read(0, formats::kPerfHeaderBytes);
  if (!first) return first.error();
  auto header = formats::parse_perf_header(*first);
  if (!header) return header.error();

  auto words = words_of(options.dictionary);
  if (!words) return in_context("the dictionary: ", words.error());
  AgentWords* const said = *words ? &**words : nullptr;
  ObservingSink observed(sink);
  pipeline::Pipeline pipeline(observed, options_of(said));
  profile::RecordingInfo info;
  info.sampling_notes = "imported from perf.data";
  info.clock_source = "perf";
  if (Status begun = begin(pipeline, said, info); !begun) return begun.error();
  PerfFeed feed(pipeline, observed, info, options.tag_register, said);
  if (options.most_held_bytes != 0) feed.hold_at_most(options.most_held_bytes);
  if (header->order == formats::ByteOrder::kOther) feed.describe({.arch = formats::kOtherOrderArch});
  if (!header->pipe) {
    auto attrs = formats::read_perf_attrs(*header, read);
    if (!attrs) return attrs.error();
    feed.describe(formats::read_perf_description(*header, read, *attrs));
    if (said != nullptr) {
      if (Status same = same_host(said->recording(), feed.description().host); !same) return same.error();
    }
    if (Status used = feed.use_events(*std::move(attrs)); !used) return used.error();
  }
  auto done = read_records(file, *header, options, feed);
  if (!done) return done.error();

  PerfImported out;
  out.description = feed.description();
  out.damage = damage_of(*header, *done);
  out.complete = !header->unfinished && done->missing == 0 && !done->broken && done->cut == 0;
  if (!out.damage.empty()) out.notes.push_back(out.damage);
  describe(out.description, info);
  info.kernel_anchor = feed.kernel_anchor();
  info.kernel_build_id = feed.kernel_build_id();
  set_times(out.description, observed, options.written_ns, said, info);
  sink.on_recording(info);
  out.total = pipeline.total();
  out.total.undecoded += feed.rewriter().dropped();
  note_reading(feed, out.total, out.notes);
  if (said != nullptr) note_words(*said, observed, out.notes);
  JitNames names(sink, is_monotonic(feed.events()), out.notes);
  if (Status named = names.add(options, done->bytes, observed, info, out.description); !named)
    return named.error();
  out.jit_functions = names.functions();
  out.layouts = feed.layouts();
  out.most_held_bytes = feed.most_held_bytes();
  out.samples = observed.samples();
  out.records_of_perf = done->tool_records;
  return out;
}

}  // namespace tailor::importer
