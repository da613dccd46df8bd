#include "daemon/store/meta_codec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/blockers.h"
#include "daemon/profile/walk_end.h"
#include "proto/base/errors.h"
#include "proto/base/utf8.h"

namespace tailor::store {
namespace {

// Linux's own bound (CONFIG_NR_CPUS on x86-64), and the ring of all of them.
constexpr int kMostCpus = 8192 + 1;

using Walks = decltype(profile::Accounting::walks);

void set_walks(v1::StackWalks& out, const Walks& in) {
  using End = profile::WalkEnd;
  const auto of = [&](End end) { return in[static_cast<std::size_t>(end)]; };
  out.set_known(of(End::kKnown));
  out.set_begin(of(End::kBegin));
  out.set_no_rule(of(End::kNoRule));
  out.set_generated(of(End::kGenerated));
  out.set_no_file(of(End::kNoFile));
  out.set_short_stack(of(End::kShortStack));
  out.set_nonsense(of(End::kNonsense));
  out.set_unread(of(End::kUnread));
  out.set_work(of(End::kWork));
  out.set_frames(of(End::kFrames));
}

// In the order of WalkEnd.
Walks get_walks(const v1::StackWalks& in) {
  return {in.known(),       in.begin(),    in.no_rule(), in.generated(), in.no_file(),
          in.short_stack(), in.nonsense(), in.unread(),  in.work(),      in.frames()};
}

// A path is bytes. A reader looks into the file by it, so one that is no text is kept whole, beside what can
// be shown.
template <typename Message>
void set_path_of(Message& out, const std::string& path) {
  out.set_path(to_utf8(path));
  if (!is_utf8(path)) out.set_path_bytes(path);
}

template <typename Message>
std::string get_path_of(const Message& in) {
  return in.path_bytes().empty() ? in.path() : in.path_bytes();
}

}  // namespace

void set_process(v1::ProcessRef& out, ProcessId process) {
  out.set_pid(process.pid);
  out.set_start(process.start);
}

ProcessId get_process(const v1::ProcessRef& in) {
  return {in.pid(), in.start()};
}

std::string to_utf8(const std::string& in) {
  return replace_non_utf8(in);
}

void encode(const profile::RecordingInfo& in, v1::Recording& out) {
  out.set_host(to_utf8(in.host));
  out.set_kernel(to_utf8(in.kernel));
  out.set_cpu(to_utf8(in.cpu));
  out.set_daemon_version(to_utf8(in.daemon_version));
  out.set_command(to_utf8(in.command));
  out.set_wall_clock_ns(in.wall_clock_ns);
  out.set_start(in.start);
  out.set_sampling_notes(to_utf8(in.sampling_notes));
  out.set_clock_source(to_utf8(in.clock_source));
  out.set_clock_error_ns(in.clock_error_ns);
  out.set_steal_ns(in.steal_ns);
  out.set_cpus(in.cpus);
  out.set_own_cpu_ns(in.own_cpu_ns);
  out.set_aggregated_ns(in.aggregated_ns);
  out.set_cpu_used_ns(in.cpu_used_ns);
  out.set_cpu_sampled_ns(in.cpu_sampled_ns);
  out.set_kernel_not_sampled(in.kernel_not_sampled);
  out.set_kernel_unsampled_ns(in.kernel_unsampled_ns);
  for (const profile::Source& source : in.sources) {
    v1::SampleSource& o = *out.add_sources();
    o.set_index(source.index);
    o.set_name(to_utf8(source.name));
    o.set_unit(static_cast<std::uint32_t>(source.unit));
    o.set_period(source.period);
    o.set_precise(source.precise);
  }
  for (const profile::Pause& pause : in.pauses) {
    v1::Pause& o = *out.add_pauses();
    set_process(*o.mutable_process(), pause.process);
    o.set_from(pause.from);
    if (pause.to == kTimeMax) continue;
    o.set_over(true);
    o.set_to(pause.to);
  }
  for (const profile::RateSpan& rate : in.rates) {
    v1::RateSpan& o = *out.add_rates();
    set_process(*o.mutable_process(), rate.process);
    o.set_from(rate.from);
    o.set_frequency(rate.frequency);
    o.set_why(to_utf8(rate.why));
    if (rate.to == kTimeMax) continue;
    o.set_over(true);
    o.set_to(rate.to);
  }
  for (const std::string& name : in.wait_names) out.add_wait_names(to_utf8(name));
  out.set_drawn_ppm(in.drawn_ppm);
  out.set_machine(to_utf8(in.machine));
  out.set_boot_id(to_utf8(in.boot_id));
  out.set_kernel_build_id(to_utf8(in.kernel_build_id));
  out.set_kernel_anchor(to_utf8(in.kernel_anchor));
}

Result<profile::RecordingInfo> decode(const v1::Recording& in) {
  profile::RecordingInfo out{in.host(),
                             in.kernel(),
                             in.cpu(),
                             in.daemon_version(),
                             in.command(),
                             in.wall_clock_ns(),
                             in.start(),
                             {},
                             in.sampling_notes(),
                             in.clock_source(),
                             in.clock_error_ns(),
                             in.steal_ns(),
                             in.cpus(),
                             in.own_cpu_ns(),
                             in.aggregated_ns(),
                             in.cpu_used_ns(),
                             in.cpu_sampled_ns(),
                             in.kernel_not_sampled(),
                             in.kernel_unsampled_ns()};
  for (const v1::SampleSource& source : in.sources()) {
    if (source.index() > UINT16_MAX) return internal("recording: the index of a source exceeds 16 bits");
    if (source.unit() > static_cast<std::uint32_t>(profile::Unit::kEvents)) {
      return internal("recording: a source has an unknown unit");
    }
    out.sources.push_back({static_cast<std::uint16_t>(source.index()), source.name(),
                           static_cast<profile::Unit>(source.unit()), source.period(), source.precise()});
  }
  for (const v1::Pause& pause : in.pauses())
    out.pauses.push_back({get_process(pause.process()), pause.from(), pause.over() ? pause.to() : kTimeMax});
  for (const v1::RateSpan& rate : in.rates())
    out.rates.push_back({get_process(rate.process()), rate.from(), rate.over() ? rate.to() : kTimeMax,
                         rate.frequency(), rate.why()});
  out.wait_names.assign(in.wait_names().begin(), in.wait_names().end());
  out.drawn_ppm = in.drawn_ppm() > 1'000'000 ? 0 : in.drawn_ppm();
  out.machine = in.machine();
  out.boot_id = in.boot_id();
  out.kernel_build_id = in.kernel_build_id();
  out.kernel_anchor = in.kernel_anchor();
  return out;
}

void encode(const profile::ProcessRecord& in, v1::ProcessInfo& out) {
  set_process(*out.mutable_process(), in.process);
  out.set_comm(to_utf8(in.comm));
  out.set_engine_name(to_utf8(in.engine_name));
  out.set_engine_version(to_utf8(in.engine_version));
  out.set_agent_version(to_utf8(in.agent_version));
  out.set_first_seen(in.first_seen);
  if (in.registered != kTimeMin) {
    out.set_is_registered(true);
    out.set_registered(in.registered);
  }
  out.set_tag_key(in.tag_key);
  out.set_tag_strategy(in.tag_strategy);
  out.set_cgroup(to_utf8(in.cgroup));
  for (const std::string& notice : in.agent_notices) out.add_agent_notices(to_utf8(notice));
  if (in.uid) out.set_uid(*in.uid);
  out.set_rules(to_utf8(in.rules));
  if (in.parent == ProcessId{}) return;
  set_process(*out.mutable_parent(), in.parent);
  out.set_forked(in.forked);
}

Result<profile::ProcessRecord> decode(const v1::ProcessInfo& in) {
  return profile::ProcessRecord{get_process(in.process()),
                                in.comm(),
                                in.engine_name(),
                                in.engine_version(),
                                in.agent_version(),
                                in.first_seen(),
                                in.is_registered() ? in.registered() : kTimeMin,
                                in.tag_key(),
                                in.tag_strategy(),
                                in.cgroup(),
                                get_process(in.parent()),
                                in.forked(),
                                {in.agent_notices().begin(), in.agent_notices().end()},
                                in.has_uid() ? std::optional(in.uid()) : std::nullopt,
                                in.rules()};
}

namespace {

void encode_blockers(const profile::Blockers& in, v1::Execution& out) {
  for (const profile::Blocker& each : in.seen) {
    v1::Blocker& blocker = *out.add_blockers();
    set_process(*blocker.mutable_process(), each.process);
    if (each.execution != ExecutionId{})
      blocker.set_execution(each.execution.bytes.data(), each.execution.bytes.size());
    blocker.set_from(each.from);
    blocker.set_to(each.to);
  }
  out.set_blockers_left_out(in.left_out);
}

// NULL: there are none. What is too much, or has no times, is left out and counted.
std::shared_ptr<const profile::Blockers> decode_blockers(const v1::Execution& in) {
  if (in.blockers_size() == 0 && in.blockers_left_out() == 0) return nullptr;
  auto out = std::make_shared<profile::Blockers>();
  out->left_out = in.blockers_left_out();
  for (const v1::Blocker& each : in.blockers()) {
    profile::Blocker blocker{get_process(each.process()), {}, each.from(), each.to()};
    const bool has_execution = each.execution().size() == blocker.execution.bytes.size();
    if (out->seen.size() >= profile::kMostBlockers || blocker.from > blocker.to ||
        (!has_execution && !each.execution().empty())) {
      out->left_out += out->left_out < UINT64_MAX ? 1 : 0;
      continue;
    }
    if (has_execution)
      std::copy(each.execution().begin(), each.execution().end(), blocker.execution.bytes.begin());
    out->seen.push_back(blocker);
  }
  return out;
}

}  // namespace

void encode(const profile::ExecutionRecord& in, v1::Execution& out) {
  set_process(*out.mutable_process(), in.process);
  out.set_handle(in.handle);
  out.set_id(in.id.bytes.data(), in.id.bytes.size());
  out.set_plan_id(in.plan);
  out.set_begin(in.begin);
  if (in.end != kTimeMax) {
    out.set_ended(true);
    out.set_end(in.end);
  }
  out.set_heard(in.heard);
  out.set_result_rows(in.rows);
  out.set_result_rows_unknown(!in.rows_known);
  out.set_error(to_utf8(in.error));
  for (const auto& [key, value] : in.labels) {
    v1::Label& label = *out.add_labels();
    label.set_key(to_utf8(key));
    label.set_value(to_utf8(value));
  }
  if (in.uid) out.set_uid(*in.uid);
  out.set_wall_begin_ns(in.wall_begin_ns);
  out.set_not_drawn(!in.drawn);
  out.set_tags_off(in.tags_off);
  if (in.added != nullptr) profile::encode_added_runs(*in.added, *out.mutable_added_runs());
  if (in.blockers != nullptr) encode_blockers(*in.blockers, out);
}

Result<profile::ExecutionRecord> decode(const v1::Execution& in) {
  profile::ExecutionRecord out;
  if (in.id().size() != out.id.bytes.size()) return internal("execution: its id is not 16 bytes long");
  out.process = get_process(in.process());
  out.handle = in.handle();
  std::copy(in.id().begin(), in.id().end(), out.id.bytes.begin());
  out.plan = in.plan_id();
  out.begin = in.begin();
  out.end = in.ended() ? in.end() : kTimeMax;
  out.heard = in.heard();
  out.rows = in.result_rows();
  out.rows_known = !in.result_rows_unknown();
  out.error = in.error();
  for (const v1::Label& label : in.labels()) out.labels.emplace_back(label.key(), label.value());
  if (in.has_uid()) out.uid = in.uid();
  out.wall_begin_ns = in.wall_begin_ns();
  out.drawn = !in.not_drawn();
  out.tags_off = in.tags_off();
  if (in.has_added_runs()) {
    auto added = profile::decode_added_runs(in.added_runs());
    if (!added) return internal("execution: " + added.error().message);
    out.added = std::make_shared<const profile::AddedRuns>(std::move(*added));
  }
  out.blockers = decode_blockers(in);
  return out;
}

void encode(const profile::MappingRecord& in, v1::MappedFile& out) {
  set_process(*out.mutable_process(), in.process);
  out.set_time(in.time);
  out.set_begin(in.begin);
  out.set_size(in.size);
  out.set_file_offset(in.file_offset);
  set_path_of(out, in.path);
  out.set_build_id(to_utf8(in.build_id));
}

profile::MappingRecord decode(const v1::MappedFile& in) {
  return {get_process(in.process()), in.time(),       in.begin(),   in.size(),
          in.file_offset(),          get_path_of(in), in.build_id()};
}

void encode(const profile::FileNames& in, v1::FileNames& out) {
  set_path_of(out, in.path);
  out.set_build_id(to_utf8(in.build_id));
  out.set_file_id(to_utf8(in.file_id));
  std::uint64_t before = 0;
  for (const profile::FileNames::Function& function : in.functions) {
    out.add_begin(static_cast<std::int64_t>(function.begin - before));
    out.add_size(function.size);
    out.add_address(static_cast<std::int64_t>(function.address - function.begin));
    out.add_name(to_utf8(function.name));
    out.add_origin(to_utf8(function.origin));
    before = function.begin;
  }
}

Result<profile::FileNames> decode(const v1::FileNames& in) {
  const int rows = in.begin_size();
  const bool whole = in.size_size() == rows && in.address_size() == rows && in.name_size() == rows &&
                     in.origin_size() == rows;
  if (!whole) return internal("names of a file: the columns have other numbers of rows");
  profile::FileNames out{get_path_of(in), in.build_id(), {}, in.file_id()};
  std::uint64_t begin = 0;
  for (int i = 0; i < rows; ++i) {
    begin += static_cast<std::uint64_t>(in.begin(i));
    if (in.size(i) > UINT64_MAX - begin) return internal("names of a file: a function has no end");
    out.functions.push_back(
        {begin, in.size(i), begin + static_cast<std::uint64_t>(in.address(i)), in.name(i), in.origin(i)});
  }
  return out;
}

void encode(const profile::Accounting& in, v1::ProcessAccounting& out) {
  set_process(*out.mutable_process(), in.process);
  out.set_received(in.received);
  out.set_attributed(in.attributed);
  out.set_unattributed(in.unattributed);
  out.set_filtered(in.filtered);
  out.set_late(in.late);
  out.set_lost_ring(in.lost_ring);
  out.set_lost_hardware(in.lost_hardware);
  out.set_throttled(in.throttled);
  out.set_gap_ns(in.gap_ns);
  out.set_log_records(in.log_records);
  out.set_log_lost(in.log_lost);
  out.set_messages(in.messages);
  out.set_messages_rejected(in.messages_rejected);
  out.set_agent_dropped(in.agent_dropped);
  for (const profile::CpuLosses& cpu : in.cpus) {
    v1::CpuLosses& to = *out.add_cpus();
    to.set_cpu(cpu.cpu);
    to.set_lost_ring(cpu.lost_ring);
    to.set_lost_hardware(cpu.lost_hardware);
    to.set_throttled(cpu.throttled);
    to.set_gap_ns(cpu.gap_ns);
  }
  out.set_on_cpu_ns(in.on_cpu_ns);
  out.set_forced(in.forced);
  out.set_undecoded(in.undecoded);
  out.set_cut_bytes(in.cut_bytes);
  out.set_broken_rings(in.broken_rings);
  out.set_records_filtered(in.records_filtered);
  out.set_waits_abandoned(in.waits_abandoned);
  out.set_executions_unknown(in.executions_unknown);
  out.set_counted_by_other(in.counted_by_other);
  out.set_not_drawn(in.not_drawn);
  out.set_not_drawn_ns(in.not_drawn_ns);
  out.set_slot_states(in.slot_states);
  out.set_slots_missing(in.slots_missing);
  out.set_slots_unread(in.slots_unread);
  out.set_codes_without_plan(in.codes_without_plan);
  out.set_agent_unsent(in.agent_unsent);
  if (std::ranges::any_of(in.walks, [](std::uint64_t each) { return each != 0; }))
    set_walks(*out.mutable_stack_walks(), in.walks);
}

Result<profile::Accounting> decode(const v1::ProcessAccounting& in) {
  if (in.cpus_size() > kMostCpus) return internal("accounting: more CPUs than a host has");
  profile::Accounting out;
  out.process = get_process(in.process());
  out.received = in.received();
  out.attributed = in.attributed();
  out.unattributed = in.unattributed();
  out.filtered = in.filtered();
  out.late = in.late();
  out.lost_ring = in.lost_ring();
  out.lost_hardware = in.lost_hardware();
  out.throttled = in.throttled();
  out.gap_ns = in.gap_ns();
  out.log_records = in.log_records();
  out.log_lost = in.log_lost();
  out.messages = in.messages();
  out.messages_rejected = in.messages_rejected();
  out.agent_dropped = in.agent_dropped();
  out.on_cpu_ns = in.on_cpu_ns();
  out.forced = in.forced();
  out.undecoded = in.undecoded();
  out.cut_bytes = in.cut_bytes();
  out.broken_rings = in.broken_rings();
  out.records_filtered = in.records_filtered();
  out.waits_abandoned = in.waits_abandoned();
  out.executions_unknown = in.executions_unknown();
  out.counted_by_other = in.counted_by_other();
  out.not_drawn = in.not_drawn();
  out.not_drawn_ns = in.not_drawn_ns();
  out.slot_states = in.slot_states();
  out.slots_missing = in.slots_missing();
  out.slots_unread = in.slots_unread();
  out.codes_without_plan = in.codes_without_plan();
  out.agent_unsent = in.agent_unsent();
  out.walks = get_walks(in.stack_walks());
  for (const v1::CpuLosses& cpu : in.cpus()) {
    out.of_cpu(cpu.cpu()) = {cpu.cpu(), cpu.lost_ring(), cpu.lost_hardware(), cpu.throttled(), cpu.gap_ns()};
  }
  return out;
}

}  // namespace tailor::store
