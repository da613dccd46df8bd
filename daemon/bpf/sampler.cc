#include "daemon/bpf/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sampler.skel.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "daemon/bpf/sample_encoder.h"
#include "daemon/capture/host/denial.h"
#include "daemon/os/host_files.h"
#include "proto/base/errors.h"

namespace tailor::bpf {
namespace {

constexpr std::size_t kMostRingBytes = std::size_t{64} << 20;
constexpr std::uint64_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO

// libbpf prints by itself otherwise. What it would say is in the errors it returns, in words of its own.
int print_nothing(libbpf_print_level, const char*, va_list) {
  return 0;
}

Error explain_load(int code) {
  code = std::abs(code);
  std::string text = fmt::format("the kernel does not load the BPF program: {}", std::strerror(code));
  if (code == EPERM || code == EACCES) text += " (it takes CAP_BPF and CAP_PERFMON, or root)";
  return os_error(std::move(text), code);
}

// The program counts processes as the first namespace does.
Status check_host(const os::Os& os) {
  std::error_code missing;
  if (!std::filesystem::exists(os.sys() / "kernel/btf/vmlinux", missing)) {
    return unavailable(
        "the kernel has no type information for BPF (/sys/kernel/btf/vmlinux): it was built without "
        "CONFIG_DEBUG_INFO_BTF");
  }
  const auto space = std::filesystem::read_symlink(os.proc() / "self/ns/pid", missing);
  if (space.string() != fmt::format("pid:[{}]", kFirstPidNamespace)) {
    return unavailable(
        "BPF names processes by the host's pid namespace, and this one is another (a container?)");
  }
  return Ok{};
}

perf_event_attr attr_of(const capture::EventSpec& spec, const SamplerOptions& options) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = spec.type;
  attr.config = spec.config;
  attr.config1 = spec.config1;
  attr.config2 = spec.config2;
  attr.sample_period = spec.period;
  attr.exclude_hv = 1;
  attr.exclude_idle = 1;
  attr.exclude_kernel = options.exclude_kernel;
  attr.disabled = 1;  // attaching the program starts it
  return attr;
}

}  // namespace

Result<std::shared_ptr<Sampler>> Sampler::start(os::Os& os, const SamplerOptions& options) {
  Status possible = check_host(os);
  if (!possible) return possible.error();
  std::shared_ptr<Sampler> sampler(new Sampler(os, options));
  Status loaded = sampler->load();
  if (!loaded) return loaded.error();
  Status opened = sampler->open_events();
  if (!opened) return opened.error();
  return sampler;
}

Sampler::~Sampler() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  ring_buffer__free(ring_);
  sampler_bpf__destroy(program_);
}

Status Sampler::load() {
  libbpf_set_print(print_nothing);
  program_ = sampler_bpf__open();
  if (program_ == nullptr) return explain_load(errno);
  auto cpus = os::online_cpus(os_);
  if (!cpus) return cpus.error();
  const std::size_t bytes = std::min(std::bit_ceil(options_.ring_bytes * cpus->size()), kMostRingBytes);
  bpf_map__set_max_entries(program_->maps.records, static_cast<std::uint32_t>(bytes));
  wakeup_bytes_ = bytes / 4;
  program_->data->wakeup_bytes = wakeup_bytes_;
  for (std::size_t source = 0; source < std::min<std::size_t>(options_.events.size(), 64); ++source) {
    // A sum has no data address.
    const bool summed = options_.aggregate > 0 && !options_.events[source].address;
    program_->rodata->summed_sources |= std::uint64_t{summed} << source;
    const bool timer = options_.events[source].unit == profile::Unit::kNsOnCpu;
    program_->rodata->timer_sources |= std::uint64_t{timer} << source;
  }
  for (bpf_map* map : {program_->maps.first_sums, program_->maps.second_sums}) {
    bpf_map__set_max_entries(map, program_->rodata->summed_sources == 0 ? 1 : options_.sums);
  }
  bpf_program__set_autoload(program_->progs.take_slot_at_switch, options_.switches);
  bpf_program__set_autoload(program_->progs.watch_cpu, follows_threads());
  bpf_map__set_max_entries(program_->maps.cpus, static_cast<std::uint32_t>(libbpf_num_possible_cpus()));
  if (int failed = sampler_bpf__load(program_); failed != 0) return explain_load(failed);
  std::vector<bpf_program*> at_tracepoints = {program_->progs.follow_fork, program_->progs.begin_at_exec,
                                              program_->progs.forget_child};
  if (follows_threads()) at_tracepoints.push_back(program_->progs.watch_cpu);
  if (options_.switches) at_tracepoints.push_back(program_->progs.take_slot_at_switch);
  for (bpf_program* program : at_tracepoints) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) return explain_load(errno);
    links_.push_back(link);
  }
  ring_ = ring_buffer__new(bpf_map__fd(program_->maps.records), on_record, this, nullptr);
  if (ring_ == nullptr) return os_error("the ring of the BPF program cannot be mapped", errno);
  earlier_ = now_ = sums_began_ = read_clock_pair();
  sums_read_ = now_.raw;
  return Ok{};
}

bool Sampler::set_seldom_read(bool seldom) {
  if (adds_up() != 0) return false;
  program_->data->wakeup_bytes = seldom ? 0 : wakeup_bytes_;
  return true;
}

// A CPU without samples of a timer is one without recorded threads; of no other event that can be said.
bool Sampler::follows_threads() const {
  return !options_.events.empty() && !options_.exclude_kernel &&
         std::ranges::any_of(options_.events, [](const capture::EventSpec& event) {
           return event.mechanism == capture::Mechanism::kTimer;
         });
}

Status Sampler::map_cpus() {
  const std::size_t bytes = sizeof(tailor_bpf_cpu) * static_cast<std::size_t>(libbpf_num_possible_cpus());
  auto mapped = os_.map_ring(bpf_map__fd(program_->maps.cpus), bytes);
  if (!mapped) return in_context("the map of CPUs cannot be mapped: ", mapped.error());
  cpu_memory_ = std::move(*mapped);
  return Ok{};
}

Status Sampler::open_events() {
  auto cpus = os::online_cpus(os_);
  if (!cpus) return cpus.error();
  online_ = std::move(*cpus);
  if (Status mapped = map_cpus(); !mapped) return mapped;
  std::vector<perf_event_attr> attrs;
  for (const capture::EventSpec& event : options_.events) attrs.push_back(attr_of(event, options_));
  const auto attach = [this](UniqueFd fd, std::size_t source) -> Result<CpuEvents::Attached> {
    LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = source);
    bpf_link* link = bpf_program__attach_perf_event_opts(program_->progs.take_sample, fd.get(), &options);
    if (link == nullptr) return explain_load(errno);
    // The link closes the descriptor.
    return CpuEvents::Attached{fd.release(), std::shared_ptr<void>(link, [](void* each) {
                                 bpf_link__destroy(static_cast<bpf_link*>(each));
                               })};
  };
  const TimeNs now = os_.now();
  cpu_events_.emplace(os_, options_.events, std::move(attrs), options_.jitter, attach);
  if (Status opened = cpu_events_->open(online_, now); !opened) return opened;
  if (follows_threads()) {
    TimeNs longest = 0;
    for (const capture::EventSpec& event : options_.events) {
      if (event.mechanism == capture::Mechanism::kTimer)
        longest = std::max(longest, static_cast<TimeNs>(capture::longest_period(event)));
    }
    longest *= 2;  // what is left of a period of one event, and then of the other
    placement_.emplace(longest);
  }
  place(now);
  return Ok{};
}

// Turns the timers of CPUs on and off, and draws their periods anew.
void Sampler::place(TimeNs now) {
  for (int cpu : online_) {
    if (!placement_) {
      cpu_events_->run(cpu, true, now);
      continue;
    }
    auto* all = reinterpret_cast<tailor_bpf_cpu*>(cpu_memory_.data());
    tailor_bpf_cpu& shared = all[cpu];
    std::atomic_ref<std::uint32_t> watched(shared.watched), wanted(shared.wanted);
    const CpuSeen seen{std::atomic_ref(shared.hits).load(), wanted.load() != 0};
    const CpuTask task = placement_->look(cpu, now, seen);
    if (!task.watched) watched = 0;
    // Taken back before the program watches again, or after it has stopped to.
    if (task.timer && seen.wanted) wanted = 0;
    cpu_events_->run(cpu, task.timer, now);
    if (task.watched) watched = 1;
  }
  cpu_events_->redraw(now);
}

std::size_t Sampler::running_cpus() {
  std::lock_guard lock(mutex_);
  return placement_ ? placement_->running() : online_.size();
}

Result<std::uint32_t> Sampler::add(pid_t pid, std::uint32_t flags, const capture::RingLayout& layout,
                                   std::uint32_t drawn_ppm) {
  std::lock_guard lock(mutex_);
  std::uint32_t number = 0;
  while (members_.contains(number)) ++number;
  if (number >= TAILOR_BPF_RECORDINGS) {
    return exhausted(fmt::format("BPF samples {} processes already", TAILOR_BPF_RECORDINGS));
  }
  members_[number] = {pid, layout, {}, raw_counts(number), sums_read_, false};
  tailor_bpf_process value{};
  value.recording = number;
  value.flags = flags;
  value.drawn_ppm = drawn_ppm;
  const auto key = static_cast<std::uint32_t>(pid);
  const int failed = bpf_map_update_elem(bpf_map__fd(program_->maps.processes), &key, &value, BPF_ANY);
  if (failed == 0) {
    if (!(flags & TAILOR_BPF_SILENT)) want_timers_of(pid);
    place(os_.now());
    return number;
  }
  members_.erase(number);
  return os_error(fmt::format("process {} cannot be told to BPF: {}", pid, std::strerror(-failed)), -failed);
}

// Of its threads that are on a CPU now; of those that come to one from now on the program tells.
void Sampler::want_timers_of(pid_t pid) {
  auto* all = reinterpret_cast<tailor_bpf_cpu*>(cpu_memory_.data());
  for (int cpu : os::busy_cpus_of(os_, pid)) {
    if (std::ranges::find(online_, cpu) != online_.end()) std::atomic_ref(all[cpu].wanted) = 1;
  }
}

void Sampler::tell_agent(pid_t pid, const capture::AgentTag* tags) {
  std::lock_guard lock(mutex_);  // hold() changes the same value
  const int map = bpf_map__fd(program_->maps.processes);
  const auto key = static_cast<std::uint32_t>(pid);
  tailor_bpf_process value{};
  if (bpf_map_lookup_elem(map, &key, &value) != 0) return;
  value.tag_key = 0;
  value.slot_offset = 0;
  value.flags &= ~TAILOR_BPF_AGENT;
  if (tags != nullptr) {
    value.tag_key = tags->key;
    value.slot_offset = tags->slot_offset != 0 ? tags->slot_offset : tags->thread_slot_offset;
    value.flags |= TAILOR_BPF_REGISTERED;
    if (value.slot_offset != 0) value.flags |= TAILOR_BPF_HAS_SLOTS;
    if (tags->slot_offset != 0) value.flags |= TAILOR_BPF_TAG_SLOT;
    if (value.slot_offset != 0 && tags->slot_has_state) value.flags |= TAILOR_BPF_HAS_STATE;
    if (tags->reg == capture::TagRegister::kR13) value.flags |= TAILOR_BPF_TAG_R13;
    if (tags->reg == capture::TagRegister::kR15) value.flags |= TAILOR_BPF_TAG_R15;
  }
  bpf_map_update_elem(map, &key, &value, BPF_EXIST);
}

// A full map leaves code unknown: its samples bring a stack they do not need.
void Sampler::tell_code_page(pid_t pid, std::uint64_t page, bool is_known) {
  const int map = bpf_map__fd(program_->maps.code_pages);
  const tailor_bpf_page key{static_cast<std::uint32_t>(pid), 0, page};
  const std::uint32_t value = 1;
  if (is_known) {
    bpf_map_update_elem(map, &key, &value, BPF_ANY);
  } else {
    bpf_map_delete_elem(map, &key);
  }
}

// Children are found by walking the map: they were added in the kernel.
std::vector<std::uint32_t> Sampler::pids_of(std::uint32_t recording) const {
  const int map = bpf_map__fd(program_->maps.processes);
  std::vector<std::uint32_t> pids;
  std::uint32_t key = 0;
  for (int more = bpf_map_get_next_key(map, nullptr, &key); more == 0;
       more = bpf_map_get_next_key(map, &key, &key)) {
    tailor_bpf_process value{};
    if (bpf_map_lookup_elem(map, &key, &value) == 0 && value.recording == recording) pids.push_back(key);
  }
  return pids;
}

void Sampler::hold(std::uint32_t recording, bool held) {
  const int map = bpf_map__fd(program_->maps.processes);
  std::lock_guard lock(mutex_);
  for (std::uint32_t pid : pids_of(recording)) {
    tailor_bpf_process value{};
    if (bpf_map_lookup_elem(map, &pid, &value) != 0) continue;
    value.flags = held ? value.flags | TAILOR_BPF_HELD : value.flags & ~TAILOR_BPF_HELD;
    bpf_map_update_elem(map, &pid, &value, BPF_EXIST);
  }
  const auto found = members_.find(recording);
  if (held || found == members_.end()) return;
  want_timers_of(found->second.pid);
  place(os_.now());
}

void Sampler::stop(std::uint32_t recording) {
  for (std::uint32_t pid : pids_of(recording))
    bpf_map_delete_elem(bpf_map__fd(program_->maps.processes), &pid);
}

void Sampler::release(std::uint32_t recording) {
  std::lock_guard lock(mutex_);
  members_.erase(recording);
}

std::vector<std::byte> Sampler::fetch(std::uint32_t recording, bool all) {
  std::lock_guard lock(mutex_);
  auto found = members_.find(recording);
  if (all || found == members_.end() || !found->second.fresh) read_ring();
  if (sums_are_due(all)) read_sums();
  if (found == members_.end()) return {};
  found->second.fresh = false;
  found->second.fetched_until = sums_read_;
  return std::exchange(found->second.records, {});
}

void Sampler::read_ring() {
  ClockPair now = read_clock_pair();
  earlier_ = std::exchange(now_, now);
  ring_buffer__consume(ring_);
  for (auto& [number, member] : members_) member.fresh = true;
  place(now_.raw);
}

TimeNs Sampler::adds_up() const {
  return program_->rodata->summed_sources == 0 ? 0 : options_.aggregate;
}

TimeNs Sampler::complete_until(std::uint32_t recording) {
  std::lock_guard lock(mutex_);
  const auto found = members_.find(recording);
  return adds_up() == 0 || found == members_.end() ? kTimeMax : found->second.fetched_until;
}

bool Sampler::sums_are_due(bool all) {
  return adds_up() != 0 && (all || now_.raw - sums_read_ >= options_.aggregate);
}

void Sampler::read_sums() {
  const ClockPair now = read_clock_pair();
  const int maps[] = {bpf_map__fd(program_->maps.first_sums), bpf_map__fd(program_->maps.second_sums)};
  const std::uint32_t zero = 0;
  const std::size_t full = active_;
  // Returns when no program uses the full one any more.
  if (bpf_map_update_elem(bpf_map__fd(program_->maps.sums), &zero, &maps[1 - full], BPF_ANY) != 0) return;
  active_ = 1 - full;
  now_ = read_clock_pair();
  take_sums(maps[full]);
  sums_read_ = now.raw;
  sums_began_ = now;
}

void Sampler::take_sums(int map) {
  constexpr std::uint32_t kAtOnce = 4096;
  std::vector<tailor_bpf_sum_key> keys(kAtOnce);
  std::vector<tailor_bpf_sum> sums(kAtOnce);
  std::uint32_t place = 0;
  for (bool first = true, more = true; more; first = false) {
    std::uint32_t count = kAtOnce;
    more = bpf_map_lookup_and_delete_batch(map, first ? nullptr : &place, &place, keys.data(), sums.data(),
                                           &count, nullptr) == 0;
    // The last batch ends with ENOENT, and is one all the same.
    if (!more && errno != ENOENT) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto found = members_.find(keys[i].recording);
      if (found == members_.end()) continue;  // taken just before it was removed
      const TimeNs time = to_raw(sums_began_, now_, static_cast<TimeNs>(sums[i].last));
      encode_sum(found->second.layout, keys[i], sums[i], time, found->second.records);
    }
  }
}

// The kinds of records differ in size.
Brought Sampler::brought_by(const void* data, std::size_t size) {
  Brought brought;
  if (size < sizeof(tailor_bpf_stack_sample)) return brought;
  const auto& whole = *static_cast<const tailor_bpf_stack_sample*>(data);
  brought.stack = std::as_bytes(std::span(whole.stack))
                      .first(std::min<std::size_t>(whole.stack_bytes, sizeof whole.stack));
  if (size == sizeof(tailor_bpf_object_sample)) {
    const auto& more = *static_cast<const tailor_bpf_object_sample*>(data);
    brought.stack = std::as_bytes(std::span(more.stack))
                        .first(std::min<std::size_t>(more.stack_bytes, sizeof more.stack));
    brought.method = more.method;
    brought.objects = std::span(more.object).first(std::min<std::size_t>(more.objects, TAILOR_BPF_OBJECTS));
  }
  if (size == sizeof(tailor_bpf_anchored_sample)) {
    const auto& more = *static_cast<const tailor_bpf_anchored_sample*>(data);
    brought.anchor = more.anchor;
    brought.upper_at = more.upper_at;
    brought.upper = std::as_bytes(std::span(more.upper))
                        .first(std::min<std::size_t>(more.upper_bytes, sizeof more.upper));
  }
  return brought;
}

int Sampler::on_record(void* self, void* data, std::size_t size) {
  Sampler& sampler = *static_cast<Sampler*>(self);
  tailor_bpf_sample sample;
  if (size < sizeof sample) return 0;
  std::memcpy(&sample, data, sizeof sample);
  auto found = sampler.members_.find(sample.recording);
  if (found == sampler.members_.end()) return 0;  // taken just before it was removed
  // Its format is the last one of a layout.
  if (sample.source == TAILOR_BPF_SWITCH) sample.source = found->second.layout.formats.back().source;
  const Brought brought = brought_by(data, size);
  const TimeNs time = to_raw(sampler.earlier_, sampler.now_, static_cast<TimeNs>(sample.time));
  encode_sample(found->second.layout, sample, brought, time, found->second.records);
  return 0;
}

tailor_bpf_counts Sampler::raw_counts(std::uint32_t recording) const {
  std::vector<tailor_bpf_counts> per_cpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  tailor_bpf_counts sum{};
  if (bpf_map_lookup_elem(bpf_map__fd(program_->maps.counts), &recording, per_cpu.data()) != 0) return sum;
  for (const tailor_bpf_counts& each : per_cpu) {
    sum.taken += each.taken;
    sum.summed += each.summed;
    sum.stacks += each.stacks;
    sum.lost += each.lost;
    sum.unfollowed += each.unfollowed;
    sum.not_drawn += each.not_drawn;
    sum.not_drawn_ns += each.not_drawn_ns;
  }
  return sum;
}

tailor_bpf_counts Sampler::counts(std::uint32_t recording) {
  std::lock_guard lock(mutex_);
  tailor_bpf_counts sum = raw_counts(recording);
  auto found = members_.find(recording);
  if (found == members_.end()) return sum;
  sum.taken -= found->second.before.taken;
  sum.summed -= found->second.before.summed;
  sum.stacks -= found->second.before.stacks;
  sum.lost -= found->second.before.lost;
  sum.unfollowed -= found->second.before.unfollowed;
  sum.not_drawn -= found->second.before.not_drawn;
  sum.not_drawn_ns -= found->second.before.not_drawn_ns;
  return sum;
}

int Sampler::poll_fd() const {
  return bpf_map__fd(program_->maps.records);
}

}  // namespace tailor::bpf
