#include "daemon/capture/host/perf_recording.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/capture/decode/told_record.h"
#include "daemon/capture/host/denial.h"
#include "daemon/capture/host/kernel_functions.h"
#include "daemon/capture/host/older_kernels.h"
#include "daemon/capture/host/placement.h"
#include "daemon/os/host_files.h"
#include "proto/base/errors.h"

namespace tailor::capture {
namespace {

// Between two looks at a process's threads: longer than the kernel takes from making a thread visible to
// writing its FORK record.
constexpr TimeNs kForkSettle = 2'000'000;
// A process that makes threads faster than we look at them is left at some time; the rest is inherited.
constexpr int kMostLooks = 50;

}  // namespace

Result<std::unique_ptr<PerfRecording>> PerfRecording::open(os::Os& os, pid_t pid,
                                                           const CaptureOptions& options) {
  if (options.events.empty()) return internal("a recording needs at least one event");
  std::unique_ptr<PerfRecording> recording(new PerfRecording(os, pid, options));
  auto opened = recording->open_events();
  if (!opened) return opened.error();
  recording->tell_wait_functions();
  return recording;
}

Status PerfRecording::open_events() {
  notes_ = options_.reasons;
  bool in_our_clock = std::ranges::any_of(
      options_.events, [](const EventSpec& spec) { return spec.mechanism != Mechanism::kPebs; });
  // What is there forks while it is attached, which only an event that runs can tell.
  if (!in_our_clock || options_.start_disabled) options_.events.push_back(sideband_only());
  list_sources();
  auto cpus = os::online_cpus(os_);
  if (!cpus) return cpus.error();
  cpus_ = std::move(*cpus);
  if (pid_ != kAllProcesses) return open_for_process();
  make_attrs(false);
  return open_thread(kAllProcesses);
}

// The two parts of a source are one. An event that takes no samples is none beside others that do.
void PerfRecording::list_sources() {
  std::optional<std::uint16_t> shared = options_.rest_source;
  for (const EventSpec& spec : options_.events) {
    if (is_sideband_only(spec) && !source_of_.empty()) {
      source_of_.push_back(source_of_.front());
      continue;
    }
    if (spec.part != Part::kAll && shared) {
      source_of_.push_back(*shared);
      continue;
    }
    const auto index = static_cast<std::uint16_t>(options_.first_source + sources_.size());
    sources_.push_back(source_of(spec, index));
    source_of_.push_back(index);
    if (spec.part != Part::kAll) shared = index;
  }
}

bool PerfRecording::user_mode_only() const {
  for (std::size_t i = 0; i < attrs_.size(); ++i) {
    if (options_.events[i].part != Part::kRecords) return attrs_[i].exclude_kernel;
  }
  return false;
}

// As records of the first ring in our clock, so that a decoder or a replay of the rings knows them too.
void PerfRecording::tell_wait_functions() {
  const bool wanted = std::ranges::any_of(
      options_.events, [](const EventSpec& spec) { return spec.unit == profile::Unit::kNsOffCpu; });
  const auto slot = std::ranges::find_if(
      rings_, [](const RingSlot& each) { return each.layout.clock == RecordClock::kMonotonicRaw; });
  if (!wanted || slot == rings_.end()) return;
  auto functions = wait_functions(os_);
  if (!functions) {
    notes_.push_back("waits are not named: " + functions.error().message);
    return;
  }
  const TimeNs now = os_.now();
  for (const KernelFunction& function : *functions) {
    const std::vector<std::byte> record =
        symbol_record(slot->layout, now, function, PERF_RECORD_KSYMBOL_TYPE_UNKNOWN);
    slot->early.insert(slot->early.end(), record.begin(), record.end());
  }
}

// The first event in our own clock carries what else is recorded of tasks and mappings; where events start
// disabled, one of its own that runs.
void PerfRecording::make_attrs(bool process) {
  attrs_.clear();
  bool carried = false;
  for (const EventSpec& spec : options_.events) {
    bool fits =
        options_.start_disabled ? &spec == &options_.events.back() : spec.mechanism != Mechanism::kPebs;
    bool carries = !carried && fits;
    carried |= carries;
    attrs_.push_back(make_attr(spec, carries, options_, process));
    if (carries && options_.start_disabled) attrs_.back().disabled = 0;
  }
}

Status PerfRecording::open_for_process() {
  PlacementChoice choice{options_.placement == Placement::kPerCpu, "one event per CPU, as asked for"};
  const bool may_choose = options_.placement == Placement::kAuto && !options_.enable_on_exec;
  if (may_choose) choice = choose_placement(observe_target(os_, pid_, cpus_.size(), options_.events.size()));
  if (choice.per_cpu) {
    auto opened = open_per_cpu(choice.reason);
    bool denied = !opened && (opened.error().code == EACCES || opened.error().code == EPERM);
    if (!denied || options_.placement == Placement::kPerCpu) return opened;
    close_all();
    notes_.push_back("not " + choice.reason + ", because " + opened.error().message);
  }
  make_attrs(true);
  auto attached = attach_process();
  if (attached && may_choose && !choice.per_cpu) switches_.emplace(os_, pid_);
  if (attached || !only_per_cpu(attached.error())) return attached;
  close_all();
  return open_per_cpu("one event per CPU: the kernel has IBS for CPUs only (before 6.2)");
}

// Before 6.2 the kernel refuses IBS events of a process, whatever else is asked for.
bool PerfRecording::only_per_cpu(const Error& failure) const {
  return failure.code == EINVAL && std::ranges::any_of(options_.events, [](const EventSpec& spec) {
           return spec.mechanism == Mechanism::kIbs;
         });
}

Status PerfRecording::open_per_cpu(const std::string& reason) {
  make_attrs(false);
  auto opened = open_thread(kAllProcesses);
  if (!opened) return opened;
  per_cpu_ = true;
  notes_.push_back(reason);
  // Children that are made from now on are told by records of the events that run already.
  std::vector<pid_t> pids = {pid_};
  if (options_.follow_children) {
    pids.insert(pids.end(), options_.followed.begin(), options_.followed.end());
    pids = os::family_of(os_, pids);
    pids.push_back(pid_);
  }
  filter_.emplace(pids, options_.follow_children);
  return Ok{};
}

void PerfRecording::close_all() {
  rings_.clear();
  events_.clear();
  ring_by_key_.clear();
}

// Threads that were there get events of their own; threads made by those inherit them. A thread that appears
// between two looks is one or the other: it inherited if a FORK record of an opened thread names it. The
// record may come a moment later. Nobody waits for it: drain() looks again.
Status PerfRecording::attach_process() {
  for (int look = 0; look < 2; ++look) {
    if (Status looked = look_at_threads(); !looked) return looked;
  }
  if (opened_.empty()) return os_error(fmt::format("process {} has ended", pid_), ESRCH);
  // Where the kernel cannot keep forked processes out, we do.
  if (!options_.follow_children && !attrs_.front().inherit_thread) filter_.emplace(std::vector{pid_}, false);
  return Ok{};
}

Status PerfRecording::look_at_threads() {
  auto threads = threads_now();
  if (!threads) return threads.error();
  read_early();
  const bool first = looks_++ == 0;
  const bool was_quiet = waiting_.empty();
  std::set<pid_t> waiting;
  for (pid_t tid : *threads) {
    if (opened_.contains(tid) || was_inherited(tid)) continue;
    if (!first && !waiting_.contains(tid)) {
      waiting.insert(tid);
      continue;
    }
    auto opened = open_thread(tid);
    if (!opened && opened.error().code != ESRCH) return opened;
    if (opened) opened_.insert(tid);
  }
  const bool all_told = !first && was_quiet && waiting.empty();
  waiting_ = std::move(waiting);
  next_look_ = all_told || looks_ >= kMostLooks ? kTimeMax : os_.now() + kForkSettle;
  return Ok{};
}

// While it records: new events are in the state of the others. What cannot be opened any more is not sampled,
// which the sum of the recording shows.
void PerfRecording::look_again() {
  if (os_.now() < next_look_) return;
  const std::size_t before = events_.size();
  if (!look_at_threads()) next_look_ = kTimeMax;
  if (next_look_ == kTimeMax) inherited_.clear();
  if (options_.enable_on_exec) return;
  for (std::size_t i = before; i < events_.size(); ++i) set_enabled(events_[i], enabled_);
}

// Those of the process and, where its children count, of all its family.
Result<std::vector<pid_t>> PerfRecording::threads_now() {
  auto threads = os::threads_of(os_, pid_);
  if (!threads || !options_.follow_children || options_.enable_on_exec) return threads;
  std::vector<pid_t> roots = options_.followed;
  roots.push_back(pid_);
  for (pid_t pid : os::family_of(os_, roots)) {
    auto more = os::threads_of(os_, pid);  // an error: it has ended
    if (more && pid != pid_) threads->insert(threads->end(), more->begin(), more->end());
  }
  return threads;
}

bool PerfRecording::was_inherited(pid_t tid) {
  return inherited_.contains(tid) || std::ranges::any_of(rings_, [tid](const RingSlot& slot) {
           return std::ranges::find(slot.scan.forked, tid) != slot.scan.forked.end();
         });
}

Status PerfRecording::open_thread(pid_t tid) {
  bool any = false;
  for (int cpu : cpus_) {
    auto opened = open_on_cpu(tid, cpu);
    // A CPU can go offline at any time; the others still count.
    if (!opened && opened.error().code == ENODEV && cpus_.size() > 1) continue;
    if (!opened) return opened;
    any = true;
  }
  if (!any) return os_error("no CPU is online", ENODEV);
  return Ok{};
}

Status PerfRecording::open_on_cpu(pid_t tid, int cpu) {
  for (std::size_t spec = 0; spec < attrs_.size(); ++spec) {
    auto event = open_event(spec, tid, cpu);
    if (!event) return event.error();
    events_.push_back(std::move(*event));
    auto joined = join_ring(events_.size() - 1, cpu, attrs_[spec]);
    if (!joined) return joined;
  }
  return Ok{};
}

// The leader only has to be there: it counts, and samples nothing.
Result<PerfRecording::OpenEvent> PerfRecording::open_group(std::size_t spec, pid_t tid, int cpu) {
  OpenEvent event;
  event.spec = spec;
  event.tid = tid;
  perf_event_attr attr = attrs_[spec];
  attr.sample_period = period_of(spec, cpu);
  if (const std::uint64_t config = options_.events[spec].auxiliary; config != 0) {
    perf_event_attr leader = leader_of(attr, config);
    auto fd = os_.perf_event_open(leader, tid, cpu, -1, 0);
    if (!fd) return fd.error();
    event.leader = std::move(*fd);
  }
  auto fd = os_.perf_event_open(attr, tid, cpu, event.leader ? event.leader.get() : -1, 0);
  if (!fd) return fd.error();
  event.fd = std::move(*fd);
  return event;
}

Result<PerfRecording::OpenEvent> PerfRecording::open_event(std::size_t spec, pid_t tid, int cpu) {
  while (true) {
    auto fd = open_group(spec, tid, cpu);
    if (fd) return fd;
    if (fd.error().code == ESRCH && tid != pid_) return fd.error();
    // For a process there is another way, so kernel mode is not given up for this one.
    bool denied = fd.error().code == EACCES || fd.error().code == EPERM;
    if (denied && tid == kAllProcesses && pid_ != kAllProcesses) {
      return explain_open(os_, fd.error(), attrs_[spec], tid);
    }
    // Those that are open are no other then: PEBS has user mode only in any case.
    const bool may_relax = std::ranges::all_of(events_, [this](const OpenEvent& event) {
      return options_.events[event.spec].mechanism == Mechanism::kPebs;
    });
    if (!may_relax || !relax(spec, fd.error())) return explain_open(os_, fd.error(), attrs_[spec], tid);
  }
}

// One for all events of a CPU, so that the ring of a CPU tells the weight of its samples.
std::uint64_t PerfRecording::period_of(std::size_t spec, int cpu) {
  if (!options_.jitter) return options_.events[spec].period;
  const auto [known, fresh] = periods_.try_emplace({cpu, spec}, 0);
  if (fresh) known->second = draw_.draw(options_.events[spec]);
  return known->second;
}

// Gives up, one at a time, what a recording can do without, and says so. Only before the first event that may
// sample the kernel is open: afterwards all events are alike.
bool PerfRecording::relax(std::size_t spec, const Error& failure) {
  perf_event_attr& attr = attrs_[spec];
  bool denied = failure.code == EACCES || failure.code == EPERM;
  if (denied && !attr.exclude_kernel) {
    notes_.push_back("without samples in kernel mode: " + explain_open(os_, failure, attr, pid_).message);
    for (perf_event_attr& each : attrs_) each.exclude_kernel = 1;
    return true;
  }
  // Of a process' IBS event that is another matter.
  if (failure.code != EINVAL || (attr.inherit && only_per_cpu(failure))) return false;
  const std::string missing = give_up_newest(attr);
  if (missing.empty()) return false;
  notes_.push_back(missing);
  for (perf_event_attr& each : attrs_) {
    each.read_format = attr.read_format;
    each.inherit_thread = attr.inherit_thread;
  }
  return true;
}

Status PerfRecording::join_ring(std::size_t event, int cpu, const perf_event_attr& attr) {
  const OpenEvent& opened = events_[event];
  RecordClock clock = attr.use_clockid ? RecordClock::kMonotonicRaw : RecordClock::kPerf;
  auto [found, added] = ring_by_key_.try_emplace({cpu, clock}, rings_.size());
  if (added) rings_.emplace_back();
  RingSlot& slot = rings_[found->second];
  if (added) {
    slot.layout.cpu = static_cast<std::uint32_t>(cpu);
    slot.layout.pid = pid_;
    slot.layout.clock = clock;
    slot.layout.operands = options_.all_registers;
    for (std::size_t i = 0; i < attrs_.size(); ++i) {
      slot.layout.formats.push_back(
          format_of(attrs_[i], options_.events[i], source_of_[i], options_.tag_register));
      slot.layout.formats.back().period = period_of(i, cpu);
    }
    auto mapped = map_ring(slot, opened.fd.get());
    if (!mapped) return mapped;
  } else {
    auto owner = static_cast<unsigned long>(events_[slot.events.front()].fd.get());
    auto joined = os_.perf_ioctl(opened.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, owner);
    if (!joined) return joined;
  }
  slot.events.push_back(event);
  if (attr.sample_type & PERF_SAMPLE_IDENTIFIER) {
    auto id = os_.perf_event_id(opened.fd.get());
    if (!id) return id.error();
    slot.layout.ids.push_back({*id, static_cast<std::uint16_t>(opened.spec)});
  }
  slot.layout_changed = true;
  return Ok{};
}

// The quota of locked memory is shared with other users: a smaller ring is better than none.
Status PerfRecording::map_ring(RingSlot& slot, int fd) {
  auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t least = std::min(options_.ring_bytes, 8 * page);
  auto memory = os_.map_ring(fd, page + options_.ring_bytes);
  while (!memory && memory.error().code == EPERM && options_.ring_bytes / 2 >= least) {
    Error why = explain_map(os_, memory.error(), options_.ring_bytes);
    options_.ring_bytes /= 2;
    notes_.push_back(fmt::format("rings of {} KiB only: {}", options_.ring_bytes >> 10, why.message));
    memory = os_.map_ring(fd, page + options_.ring_bytes);
  }
  if (!memory) return explain_map(os_, memory.error(), options_.ring_bytes);
  slot.memory = std::move(*memory);
  auto ring = Ring::over({slot.memory.data(), slot.memory.size()});
  if (!ring) return ring.error();
  slot.ring = std::make_unique<Ring>(*ring);
  return Ok{};
}

Result<std::unique_ptr<Recording>> open_by_perf(os::Os& os, pid_t pid, const CaptureOptions& options) {
  auto recording = PerfRecording::open(os, pid, options);
  if (!recording) return recording.error();
  return std::unique_ptr<Recording>(std::move(*recording));
}

}  // namespace tailor::capture
