#include "daemon/capture/select/tag_ways.h"

#include <fmt/format.h>

#include <array>

namespace tailor::capture {
namespace {

// perf hides callee-saved registers in a non-maskable interrupt only (perf_get_regs_user() in
// arch/x86/kernel/perf_regs.c, since Linux 5.11): counters overflow in one, timers and software events do
// not.
constexpr std::array kRows = {
    TagRow{Mechanism::kTimer, SampledBy::kPerf, TagWay::kRegister, TagWay::kSaved, false,
           "its interrupt can be masked"},
    TagRow{Mechanism::kTimer, SampledBy::kBpf, TagWay::kRegister, TagWay::kSaved, true,
           "the program reads them itself"},
    TagRow{Mechanism::kCounter, SampledBy::kPerf, TagWay::kRegister, TagWay::kUserIp, false,
           "perf hides the saved registers in a non-maskable interrupt"},
    TagRow{Mechanism::kCounter, SampledBy::kBpf, TagWay::kRegister, TagWay::kSaved, true,
           "the program reads them itself"},
    TagRow{Mechanism::kSoftware, SampledBy::kPerf, TagWay::kRegister, TagWay::kSaved, false,
           "the kernel counts it itself"},
    TagRow{Mechanism::kSoftware, SampledBy::kBpf, TagWay::kRegister, TagWay::kSaved, true,
           "the program reads them itself"},
    TagRow{Mechanism::kPebs, SampledBy::kPerf, TagWay::kRecord, TagWay::kNotTaken, false,
           "many records per interrupt, in user mode only; a BPF program would see the last one"},
    TagRow{Mechanism::kIbs, SampledBy::kPerf, TagWay::kRegister, TagWay::kUserIp, false,
           "the registers are those of the interrupt, a little later"},
};

const char* words(TagWay way) {
  switch (way) {
    case TagWay::kRegister:
      return "the register";
    case TagWay::kSaved:
      return "the registers saved at entry";
    case TagWay::kRecord:
      return "the register in the record";
    case TagWay::kUserIp:
      return "hidden: the user IP only";
    case TagWay::kNotTaken:
      return "not sampled";
  }
  return "";
}

}  // namespace

std::span<const TagRow> tag_rows() {
  return kRows;
}

const TagRow* find_tag_row(Mechanism mechanism, SampledBy by) {
  for (const TagRow& row : kRows) {
    if (row.mechanism == mechanism && row.by == by) return &row;
  }
  return nullptr;
}

bool bpf_sees_more(const EventSpec& event, bool exclude_kernel) {
  const TagRow* perf = find_tag_row(event.mechanism, SampledBy::kPerf);
  const TagRow* bpf = find_tag_row(event.mechanism, SampledBy::kBpf);
  return !exclude_kernel && bpf != nullptr && bpf->kernel != perf->kernel;
}

std::string describe(const EventSpec& event, SampledBy by, bool exclude_kernel) {
  const TagRow* row = find_tag_row(event.mechanism, by);
  if (row == nullptr) return {};
  return fmt::format("{} by {}: tag from {}{}; in kernel mode {} ({})", event.name,
                     by == SampledBy::kBpf ? "BPF" : "perf", words(row->user),
                     row->slot ? " or the thread's memory slot" : "",
                     exclude_kernel ? words(TagWay::kNotTaken) : words(row->kernel), row->why);
}

}  // namespace tailor::capture
