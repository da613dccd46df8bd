#include "daemon/capture/select/event_selection.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "daemon/capture/select/event_table.h"

namespace tailor::capture {
namespace {

// Rates of the events whose period is given as a rate: a core of 3 GHz is meant.
constexpr std::uint64_t kCyclesPerSecond = 3'000'000'000;
// Rare events every so often, loads rather less (the paper's period for loads is 1000 at a high rate).
constexpr std::uint64_t kMissPeriod = 1009, kBranchPeriod = 10'007, kLoadPeriod = 20'011;

enum class Best { kPebs, kIbs, kTimer };

bool has_pebs(const HostPmu& pmu) {
  return pmu.counters && pmu.max_precise >= 2 && pmu.cpu.starts_with("Genuine");
}

Best best_of(const HostPmu& pmu) {
  if (has_pebs(pmu)) return Best::kPebs;
  return pmu.ibs ? Best::kIbs : Best::kTimer;
}

std::string lack_of(const HostPmu& pmu) {
  if (pmu.hybrid) {
    return fmt::format(
        "this host ({}) is hybrid, and its counters are those of cpu_core and cpu_atom, which are "
        "not supported",
        pmu.cpu);
  }
  return fmt::format("this host ({}) has neither PEBS nor IBS{}", pmu.cpu,
                     pmu.counters ? "" : ": no hardware counters at all, as in most virtual machines");
}

EventSpec software(std::string name, std::uint64_t config, std::uint64_t period, bool address) {
  EventSpec spec;
  spec.name = std::move(name);
  spec.mechanism = Mechanism::kSoftware;
  spec.unit = profile::Unit::kEvents;
  spec.config = config;
  spec.period = period;
  spec.address = address;
  return spec;
}

Result<EventSpec> from_table(const std::string& name, std::uint64_t period, bool address) {
  auto encoded = encode_event(name);
  if (!encoded) return encoded.error();
  EventSpec spec;
  spec.name = name;
  spec.mechanism = encoded->precise_ip > 0 ? Mechanism::kPebs : Mechanism::kCounter;
  spec.unit = profile::Unit::kEvents;
  spec.period = period;
  spec.type = encoded->type;
  spec.config = encoded->config;
  spec.config1 = encoded->config1;
  spec.config2 = encoded->config2;
  spec.precise_ip = encoded->precise_ip;
  spec.address = address;
  return spec;
}

// The kernel itself turns precise cycles into the event that can be precise on the microarchitecture.
EventSpec precise_cycles(std::uint64_t hz) {
  EventSpec spec;
  spec.name = "cycles:pp";
  spec.mechanism = Mechanism::kPebs;
  spec.unit = profile::Unit::kEvents;
  spec.type = PERF_TYPE_HARDWARE;
  spec.config = PERF_COUNT_HW_CPU_CYCLES;
  spec.precise_ip = 2;
  spec.period = prime_at_most(kCyclesPerSecond / std::max<std::uint64_t>(hz, 1));
  return spec;
}

// The same event by a counter that every interrupt finds, in kernel mode too.
EventSpec cycles(std::uint64_t hz) {
  EventSpec spec = precise_cycles(hz);
  spec.name = "cycles";
  spec.mechanism = Mechanism::kCounter;
  spec.precise_ip = 0;
  return spec;
}

// Counts cycles, or dispatched operations. The hardware ignores the lowest four bits of the period, so it
// cannot be a prime.
EventSpec ibs_op(const IbsPmu& ibs, bool operations, std::uint64_t period, bool address) {
  EventSpec spec;
  spec.name = operations ? "ibs_op/cnt_ctl=1/" : "ibs_op";
  spec.mechanism = Mechanism::kIbs;
  spec.unit = profile::Unit::kEvents;
  spec.type = ibs.type;
  spec.config = operations ? std::uint64_t{1} << 19 : 0;
  spec.config2 = ibs.software_filter ? 1 : 0;
  spec.period = std::max<std::uint64_t>(period & ~std::uint64_t{15}, 0x90);
  spec.address = address;
  return spec;
}

class Selector {
 public:
  Selector(std::uint64_t hz, const HostPmu& pmu) : hz_(hz), pmu_(pmu) {}

  Status add(const std::string& name) {
    for (const auto& [preset, function] : kFunctions) {
      if (preset == name) return (this->*function)();
    }
    return add_event(name);
  }

  // Time off the CPU is shown beside the time on it, however that is measured.
  Status complete() {
    if (!selection.context_switches || std::ranges::any_of(selection.events, &Selector::is_on_cpu))
      return Ok{};
    return add_auto();
  }

  Selection selection;

 private:
  static bool is_on_cpu(const EventSpec& spec) {
    return spec.unit != profile::Unit::kNsOffCpu && spec.mechanism != Mechanism::kSoftware;
  }

  using Function = Status (Selector::*)();
  static const std::pair<std::string_view, Function> kFunctions[8];

  // Without a reason: the user named it.
  Status push(EventSpec spec, std::string reason) {
    selection.events.push_back(std::move(spec));
    if (!reason.empty()) selection.reasons.push_back(std::move(reason));
    return Ok{};
  }

  Status add_auto() {
    switch (best_of(pmu_)) {
      case Best::kPebs:
        return add_records_and_rest();
      case Best::kIbs:
        return add_cost();
      case Best::kTimer:
        break;
    }
    return push(cpu_clock(hz_), "cpu-clock: " + lack_of(pmu_));
  }

  // Both count cycles, so their weights are of one unit.
  Status add_records_and_rest() {
    if (std::ranges::any_of(selection.events, [](const EventSpec& each) { return each.part != Part::kAll; }))
      return Ok{};
    EventSpec records = precise_cycles(hz_), rest = cycles(hz_);
    records.part = Part::kRecords;
    rest.part = Part::kRest;
    if (Status pushed =
            push(records, "PEBS: the address is that of the instruction, many samples per interrupt");
        !pushed)
      return pushed;
    return push(
        rest,
        "a counter of cycles beside PEBS, for kernel mode and for user code whose owner is not in a PEBS "
        "record: each moment is counted by one of the two");
  }

  Status add_cost() {
    switch (best_of(pmu_)) {
      case Best::kPebs:
        return push(precise_cycles(hz_),
                    "PEBS: the address is that of the instruction, many samples per interrupt");
      case Best::kIbs:
        return push(
            ibs_op(*pmu_.ibs, false, kCyclesPerSecond / std::max<std::uint64_t>(hz_, 1), false),
            "IBS: the address is that of the instruction, registers are those of the interrupt after it");
      case Best::kTimer:
        break;
    }
    return unavailable(fmt::format("cost needs precise cycles and {}; take cpu-clock", lack_of(pmu_)));
  }

  Status add_paper() {
    auto retired = table_event("INST_RETIRED:PREC_DIST:precise=3", 5000, false);
    if (!retired) return retired;
    return table_event("MEM_INST_RETIRED:ALL_LOADS:precise=2", 1000, true);
  }

  Status add_memory() {
    if (best_of(pmu_) == Best::kIbs) {
      return push(ibs_op(*pmu_.ibs, true, kLoadPeriod, true),
                  "IBS: operations with the address they touched");
    }
    return table_event("MEM_INST_RETIRED:ALL_LOADS:precise=2", kLoadPeriod, true);
  }

  Status add_branch() { return table_event("BR_MISP_RETIRED:ALL_BRANCHES:precise=2", kBranchPeriod, false); }
  Status add_cache() { return table_event("MEM_LOAD_RETIRED:L3_MISS:precise=2", kMissPeriod, true); }

  Status add_faults() {
    return push(software("page-faults", PERF_COUNT_SW_PAGE_FAULTS, 1, true),
                "every page fault, by the kernel");
  }

  Status add_off_cpu() {
    selection.context_switches = true;
    return push(off_cpu(),
                "every context switch for the time off CPU: owners by call chain (frame pointers)");
  }

  // A precise event of Intel's tables.
  Status table_event(const std::string& name, std::uint64_t period, bool address) {
    if (!has_pebs(pmu_)) {
      return unavailable(
          fmt::format("{} needs PEBS and {}", name,
                      pmu_.ibs ? "this host has IBS: take cost or memory"
                               : lack_of(pmu_) + "; take cpu-clock, for data addresses with --memory"));
    }
    if (pmu_.table.empty())
      return unavailable(fmt::format("no event table for this CPU ({}); take cost", pmu_.cpu));
    auto spec = from_table(pmu_.table + "::" + name, period, address);
    if (!spec) return spec.error();
    lead_loads(*spec);
    return push(std::move(*spec), "PEBS: " + name);
  }

  void lead_loads(EventSpec& spec) const {
    constexpr std::uint64_t kLoadLatency = 0x1CD;
    if ((spec.config & 0xFFFF) == kLoadLatency) spec.auxiliary = pmu_.load_latency_leader;
  }

  Status add_event(const std::string& text) {
    std::size_t at = text.rfind('@');
    std::string name = text.substr(0, at);
    std::uint64_t period = 0;
    if (at != std::string::npos) {
      auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), period);
      if (error != std::errc{} || end != text.data() + text.size() || period == 0) {
        return invalid(fmt::format("event '{}': the period after @ is not a number above 0", text));
      }
    }
    return add_named(name, period);
  }

  Status add_named(const std::string& name, std::uint64_t period) {
    if (name == "cpu-clock") {
      EventSpec spec = cpu_clock(hz_);
      // Below, the kernel rounds up to its own minimum.
      if (period != 0) spec.period = std::max<std::uint64_t>(period, 10'000);
      return push(std::move(spec), "");
    }
    if (name == "page-faults") {
      return push(software(name, PERF_COUNT_SW_PAGE_FAULTS, std::max<std::uint64_t>(period, 1), true), "");
    }
    if (name == "context-switches") {
      return push(software(name, PERF_COUNT_SW_CONTEXT_SWITCHES, std::max<std::uint64_t>(period, 1), false),
                  "");
    }
    if (name == "ibs_op") {
      if (!pmu_.ibs)
        return unavailable(fmt::format("ibs_op: this host ({}) has no IBS; take auto", pmu_.cpu));
      return push(ibs_op(*pmu_.ibs, true, period != 0 ? period : kLoadPeriod, true), "");
    }
    return add_counter(name, period);
  }

  Status add_counter(const std::string& name, std::uint64_t period) {
    bool qualified = name.find("::") != std::string::npos;
    if (!qualified && pmu_.table.empty()) {
      return invalid(
          fmt::format("event '{}': neither a preset nor a software event, and there is no table of "
                      "counters for this CPU ({}); 'tailor events' lists what this host can do",
                      name, pmu_.cpu));
    }
    auto spec =
        from_table(qualified ? name : pmu_.table + "::" + name, period != 0 ? period : kBranchPeriod, false);
    if (!spec) return invalid(spec.error().message + "; 'tailor events' lists what this host can do");
    if (!pmu_.counters)
      return unavailable(fmt::format("event '{}': {}; take cpu-clock", name, lack_of(pmu_)));
    spec->name = name;
    lead_loads(*spec);
    spec->address = spec->mechanism == Mechanism::kPebs && name.find("MEM_") != std::string::npos;
    return push(std::move(*spec), "");
  }

  std::uint64_t hz_;
  const HostPmu& pmu_;
};

const std::pair<std::string_view, Selector::Function> Selector::kFunctions[8] = {
    {"auto", &Selector::add_auto},     {"cost", &Selector::add_cost},      {"paper", &Selector::add_paper},
    {"memory", &Selector::add_memory}, {"branch", &Selector::add_branch},  {"cache", &Selector::add_cache},
    {"faults", &Selector::add_faults}, {"off-cpu", &Selector::add_off_cpu}};

constexpr std::uint64_t kLargePebsFields =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TRANSACTION |
    PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_PERIOD |
    PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_TIME;

// The general registers of a PEBS record.
constexpr std::uint64_t kPebsRegisters =
    ((std::uint64_t{1} << (PERF_REG_X86_FLAGS + 1)) - 1) |
    ((std::uint64_t{1} << PERF_REG_X86_64_MAX) - (std::uint64_t{1} << PERF_REG_X86_R8));

}  // namespace

Result<Selection> select_events(std::span<const std::string> names, std::uint64_t hz, const HostPmu& pmu) {
  Selector selector(hz, pmu);
  for (const std::string& name : names) {
    auto added = selector.add(name);
    if (!added) return added.error();
  }
  if (Status completed = selector.complete(); !completed.ok()) return completed.error();
  if (selector.selection.events.empty()) return invalid("no event was named; take auto");
  return std::move(selector.selection);
}

void prefer_stacks(Selection& selection) {
  const auto records = std::ranges::find(selection.events, Part::kRecords, &EventSpec::part);
  if (records == selection.events.end()) return;
  selection.events.erase(records);
  for (EventSpec& each : selection.events) each.part = Part::kAll;
  selection.reasons.emplace_back(
      "cycles by a counter alone: every sample is to have a stack, and a PEBS record has none");
}

bool keeps_large_pebs(const perf_event_attr& attr) {
  bool one_by_one = attr.freq || (attr.wakeup_events && !attr.watermark);
  std::uint64_t allowed = kLargePebsFields;
  // Under another clock the kernel cannot take the time from the record.
  if (attr.use_clockid) allowed &= ~std::uint64_t{PERF_SAMPLE_TIME};
  if (!attr.exclude_kernel) allowed &= ~std::uint64_t{PERF_SAMPLE_REGS_USER};
  if ((attr.sample_regs_user | attr.sample_regs_intr) & ~kPebsRegisters) {
    allowed &= ~std::uint64_t{PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR};
  }
  return attr.precise_ip > 0 && !one_by_one && (attr.sample_type & ~allowed) == 0;
}

}  // namespace tailor::capture
