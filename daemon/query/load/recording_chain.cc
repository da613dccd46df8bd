#include "daemon/query/load/recording_chain.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/profile/accounting.h"
#include "daemon/profile/blockers.h"
#include "daemon/profile/tee_sink.h"
#include "daemon/store/file_io.h"
#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

// Above all times of start, in ticks since the boot, and below what JSON's readers take for an integer.
constexpr int kBootBit = 44;
static_assert(kMostLinks <= 1u << 9);

// What a segment says of its recording first.
class FirstInfo : public profile::TeeSink {
 public:
  FirstInfo() : TeeSink({}) {}
  void on_recording(const profile::RecordingInfo& info) override {
    if (!said) said = info;
  }

  std::optional<profile::RecordingInfo> said;
};

// Of the newest segment that says something. One is made before it is written, and may be gone by now.
Result<std::optional<profile::RecordingInfo>> info_of(const std::string& directory,
                                                      std::span<const std::uint64_t> segments) {
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    auto input = store::open_file(store::segment_path(directory, *segment, store::FileKind::kDataSegment));
    if (!input && input.error().code == ENOENT) continue;
    if (!input) return input.error();
    FirstInfo first;
    store::ReadReport report;
    store::SaidLoss loss;
    Status read = store::read_profile(**input, first, report, loss, [&](std::uint64_t) -> Status {
      if (first.said) return unavailable("enough was read");
      return Ok{};
    });
    if (first.said) return first.said;
    if (!read && read.error().code != 0) return read.error();
  }
  return std::optional<profile::RecordingInfo>();
}

TimeNs wall_zero(const profile::RecordingInfo& info) {
  return static_cast<TimeNs>(info.wall_clock_ns) - info.start;
}

// Weights are in units, so that the period says nothing of what a sample stands for.
bool same_source(const profile::Source& a, const profile::Source& b) {
  return a.name == b.name && a.unit == b.unit && a.precise == b.precise;
}

// 0: not known, so the sum is not either.
void add_known(std::uint64_t& to, std::uint64_t more) {
  to = to == 0 || more == 0 ? 0 : to + more;
}

// Boots that were seen so far, the newest recording's first.
using Boots = std::vector<profile::RecordingInfo>;

// Where a recording does not know its boot, both clocks tell whether it may be one.
bool same_boot(const profile::RecordingInfo& a, const profile::RecordingInfo& b) {
  constexpr TimeNs kSameBoot = 30'000'000'000;
  if (!a.boot_id.empty() && !b.boot_id.empty()) return a.boot_id == b.boot_id;
  if (a.wall_clock_ns == 0 || b.wall_clock_ns == 0) return false;
  return std::llabs(wall_zero(a) - wall_zero(b)) <= kSameBoot;
}

// Places a recording beside newer ones, the newest first; or says why it is none of them.
std::optional<Unchained> place(ChainLink& link, std::span<const ChainLink> newer, bool with_functions,
                               Boots& boots) {
  const auto known =
      std::ranges::find_if(boots, [&](const auto& boot) { return same_boot(boot, link.info); });
  const auto boot = static_cast<std::uint64_t>(known - boots.begin());
  if (known == boots.end()) boots.push_back(link.info);
  if (newer.empty()) return std::nullopt;
  const profile::RecordingInfo& newest = newer.front().info;
  if (link.info.drawn_ppm != newest.drawn_ppm) return Unchained::kAnotherShare;
  if (boot == 0) return std::nullopt;
  if (with_functions) return Unchained::kAnotherBoot;
  if (link.info.wall_clock_ns == 0 || newest.wall_clock_ns == 0) return Unchained::kNoTime;
  link.boot = boot << kBootBit;
  link.shift = wall_zero(link.info) - wall_zero(newest);
  return std::nullopt;
}

// Spans that are told are as few of many recordings as of one.
template <typename Span>
void keep_newest(std::vector<Span>& spans) {
  constexpr std::size_t kMost = 256;
  std::ranges::stable_sort(spans, {}, &Span::from);
  if (spans.size() > kMost) spans.erase(spans.begin(), spans.end() - kMost);
}

void add_counts(const profile::RecordingInfo& info, bool is_first, profile::RecordingInfo& all) {
  if (is_first) {
    all.steal_ns = all.own_cpu_ns = all.kernel_unsampled_ns = 0;
    all.cpu_used_ns = info.cpu_used_ns;
    all.cpu_sampled_ns = info.cpu_sampled_ns;
    all.kernel_not_sampled = false;
  } else {
    add_known(all.cpu_used_ns, info.cpu_used_ns);
    add_known(all.cpu_sampled_ns, info.cpu_sampled_ns);
  }
  all.steal_ns += info.steal_ns;
  all.own_cpu_ns += info.own_cpu_ns;
  all.kernel_unsampled_ns += info.kernel_unsampled_ns;
  all.kernel_not_sampled = all.kernel_not_sampled || info.kernel_not_sampled;
  all.aggregated_ns = std::max(all.aggregated_ns, info.aggregated_ns);
  all.clock_error_ns = std::max(all.clock_error_ns, info.clock_error_ns);
}

}  // namespace

Result<Chain> chain_recordings(const std::string& directory, const store::Catalogue& catalogue,
                               std::span<const store::RecordingNumber> recordings, bool with_functions,
                               const Stop* stop) {
  const auto rows = catalogue.segments();
  if (!rows) return rows.error();
  std::map<store::RecordingNumber, std::vector<std::uint64_t>> segments;
  for (const store::SegmentRow& row : *rows) {
    if (row.kind == store::FileKind::kDataSegment && !row.given_up())
      segments[row.recording].push_back(row.number);
  }
  Chain chain;
  Boots boots;
  for (auto number = recordings.rbegin(); number != recordings.rend(); ++number) {
    if (stop != nullptr && stop->stopped()) return stop->error();
    if (chain.links.size() == kMostLinks) {
      chain.left_out[*number] = Unchained::kTooMany;
      continue;
    }
    auto info = info_of(directory, segments[*number]);
    if (!info) return info.error();
    if (!*info) {
      chain.left_out[*number] = Unchained::kNothingIsLeft;
      continue;
    }
    ChainLink link{*number, std::move(**info)};
    if (const auto why = place(link, chain.links, with_functions, boots)) {
      chain.left_out[*number] = *why;
    } else {
      chain.links.push_back(std::move(link));
    }
  }
  std::ranges::reverse(chain.links);
  return chain;
}

RecordingChain::RecordingChain(std::span<const ChainLink> links, ProfileLoader& to)
    : ForwardingSink(to), to_(to), newest_(links.back().info), newest_number_(links.back().number) {
  // The whole numbers sources and waits as the newest recording does, so that its samples stay as they are.
  sources_ = newest_.sources;
  waits_ = newest_.wait_names;
}

void RecordingChain::enter(const ChainLink& link) {
  link_ = &link;
  for (const auto& [process, account] : now_) {
    before_[process].process = process;
    profile::add(before_[process], account);
  }
  now_.clear();
  on_recording(link.info);
  tell_recording(false);
}

std::uint16_t RecordingChain::source_of(const profile::Source& source) {
  const auto known =
      std::ranges::find_if(sources_, [&](const auto& each) { return same_source(each, source); });
  if (known != sources_.end()) return known->index;
  std::uint16_t next = 0;
  for (const profile::Source& each : sources_)
    next = std::max<std::uint16_t>(next, static_cast<std::uint16_t>(each.index + 1));
  sources_.push_back(source);
  sources_.back().index = next;
  return next;
}

std::uint32_t RecordingChain::wait_of(const std::string& name) {
  auto known = std::ranges::find(waits_, name);
  if (known == waits_.end()) known = waits_.insert(waits_.end(), name);
  return static_cast<std::uint32_t>(known - waits_.begin()) + 1;
}

void RecordingChain::on_recording(const profile::RecordingInfo& info) {
  said_[link_] = info;
  number(info);
}

void RecordingChain::number(const profile::RecordingInfo& info) {
  source_numbers_.clear();
  wait_numbers_ = {0};
  is_like_the_whole_ = link_->shift == 0 && link_->boot == 0;
  for (const profile::Source& source : info.sources) {
    const std::uint16_t number = source_numbers_[source.index] = source_of(source);
    is_like_the_whole_ = is_like_the_whole_ && number == source.index;
  }
  for (const std::string& name : info.wait_names) {
    wait_numbers_.push_back(wait_of(name));
    is_like_the_whole_ = is_like_the_whole_ && wait_numbers_.back() == wait_numbers_.size() - 1;
  }
}

// As the newest one was made. `whole`: with what all have counted; before all was read, times and numbers do.
void RecordingChain::tell_recording(bool whole) {
  profile::RecordingInfo all = newest_;
  if (const auto said = said_.rbegin(); said->first->number == newest_number_) all = said->second;
  all.sources = sources_;
  all.wait_names = waits_;
  all.pauses.clear();
  all.rates.clear();
  TimeNs start = all.start;
  bool is_first = true;
  for (const auto& [link, info] : said_) {
    start = std::min(start, link->time(info.start));
    if (!whole) continue;
    add_counts(info, std::exchange(is_first, false), all);
    for (const profile::Pause& pause : info.pauses)
      all.pauses.push_back({link->process(pause.process), link->time(pause.from), link->time(pause.to)});
    for (profile::RateSpan span : info.rates) {
      span.process = link->process(span.process);
      span.from = link->time(span.from);
      span.to = link->time(span.to);
      all.rates.push_back(std::move(span));
    }
  }
  keep_newest(all.pauses);
  keep_newest(all.rates);
  if (all.wall_clock_ns != 0) all.wall_clock_ns -= static_cast<std::uint64_t>(all.start - start);
  all.start = start;
  to_.on_recording(all);
}

// One that goes on after a restart is found by a look, which does not see who forked it.
void RecordingChain::on_process(const profile::ProcessRecord& process) {
  profile::ProcessRecord to = process;
  to.process = link_->process(process.process);
  to.parent = link_->process(process.parent);
  if (process.first_seen != 0) to.first_seen = link_->time(process.first_seen);
  to.registered = link_->time(process.registered);
  if (process.parent != ProcessId{}) to.forked = link_->time(process.forked);
  Known& known = processes_[to.process];
  if (known.link != nullptr && known.link != link_) {
    if (to.parent == ProcessId{}) {
      to.parent = known.record.parent;
      to.forked = known.record.forked;
    }
    if (known.record.first_seen != 0) to.first_seen = known.record.first_seen;
  }
  known.link = link_;
  known.record = to;
  to_.on_process(to);
}

void RecordingChain::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  to_.on_thread(link_->process(process), tid, name);
}

void RecordingChain::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  to_.on_component(link_->process(process), id, name);
}

// What a look at the begin of a later recording saw was there when that began: before it, the earlier one
// knows.
void RecordingChain::on_mapping(const profile::MappingRecord& mapping) {
  profile::MappingRecord to = mapping;
  to.process = link_->process(mapping.process);
  const ChainLink*& first = processes_[to.process].mapped_in;
  if (first == nullptr) first = link_;
  const bool of_a_look = mapping.time == kTimeMin && first != link_;
  to.time = link_->time(of_a_look ? link_->info.start : mapping.time);
  to_.on_mapping(to);
}

void RecordingChain::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  to_.on_region_kind(link_->process(process), kind);
}

// Engines say again what is live when they are asked by a daemon that was started anew. That is late for it,
// and was known to the one before.
void RecordingChain::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  const ProcessId id = link_->process(process);
  const ChainLink*& first = processes_[id].plans[plan.id()];
  if (first == nullptr) first = link_;
  if (plan.late_until() == 0) return to_.on_plan(id, link_->time(loaded), plan);
  v1::Plan to = plan;
  to.set_late_until(first == link_ ? link_->time(plan.late_until()) : 0);
  to_.on_plan(id, link_->time(loaded), to);
}

void RecordingChain::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  const ProcessId id = link_->process(process);
  const ChainLink*& first = processes_[id].codes[code.id()];
  if (first != nullptr && first != link_) return;
  first = link_;
  to_.on_code(id, link_->time(loaded), code);
}

void RecordingChain::on_code_unload(ProcessId process, TimeNs time, CodeId code) {
  const ProcessId id = link_->process(process);
  processes_[id].codes.erase(code);
  to_.on_code_unload(id, link_->time(time), code);
}

void RecordingChain::on_execution(const profile::ExecutionRecord& execution) {
  profile::ExecutionRecord to = execution;
  to.process = link_->process(execution.process);
  to.begin = link_->time(execution.begin);
  to.end = link_->time(execution.end);
  to.heard = link_->time(execution.heard);
  if (execution.blockers != nullptr) {
    auto blockers = std::make_shared<profile::Blockers>(*execution.blockers);
    for (profile::Blocker& each : blockers->seen) {
      each.process = link_->process(each.process);
      each.from = link_->time(each.from);
      each.to = link_->time(each.to);
    }
    to.blockers = std::move(blockers);
  }
  to_.on_execution(to);
}

void RecordingChain::on_samples(std::span<const profile::SampleRecord> samples) {
  if (is_like_the_whole_) return to_.on_samples(samples);
  samples_.assign(samples.begin(), samples.end());
  for (profile::SampleRecord& sample : samples_) {
    sample.time = link_->time(sample.time);
    sample.process = link_->process(sample.process);
    if (const auto number = source_numbers_.find(sample.source); number != source_numbers_.end())
      sample.source = number->second;
    sample.engine_wait = sample.engine_wait < wait_numbers_.size() ? wait_numbers_[sample.engine_wait] : 0;
    // The kernel of another boot has its code elsewhere.
    if (link_->boot != 0 && sample.mode == profile::Mode::kKernel) sample.ip = 0;
  }
  to_.on_samples(samples_);
}

void RecordingChain::on_activity(std::span<const profile::ActivityRecord> records) {
  std::vector<profile::ActivityRecord> to(records.begin(), records.end());
  for (profile::ActivityRecord& record : to) {
    record.time = link_->time(record.time);
    record.process = link_->process(record.process);
  }
  to_.on_activity(to);
}

// A process has an account in each recording, and here one of all.
void RecordingChain::on_accounting(const profile::Accounting& accounting) {
  profile::Accounting now = accounting;
  now.process = link_->process(accounting.process);
  now_[now.process] = now;
  const auto before = before_.find(now.process);
  if (before != before_.end()) profile::add(now, before->second);
  to_.on_accounting(now);
}

}  // namespace tailor::query
