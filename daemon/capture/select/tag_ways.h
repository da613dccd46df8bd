// The decision table: for each way a sample can be taken, by which way its tag is got, in user and in kernel
// mode. docs/capture.md has the same table; a test holds the code to every row.
#pragma once

#include <span>
#include <string>

#include "daemon/capture/select/event_spec.h"

namespace tailor::capture {

enum class TagWay : std::uint8_t {
  kRegister,  // the register as the interrupt found it
  kSaved,     // the registers that were saved when user code entered the kernel
  kRecord,    // the register in the hardware's own record
  kUserIp,    // hidden: only the address of the user code tells
  kNotTaken,  // there are no such samples
};

struct TagRow {
  Mechanism mechanism;
  SampledBy by;  // kPerf or kBpf
  TagWay user, kernel;
  bool slot;  // of a process that keeps its tags in memory, that of the thread is read at the sample's time
  const char* why;  // of what is special
};

// All rows. A mechanism without a row for BPF is always sampled by perf.
std::span<const TagRow> tag_rows();

// The row of a mechanism, NULL if it cannot be sampled so.
const TagRow* find_tag_row(Mechanism mechanism, SampledBy by);

// Whether a program sees a tag where perf does not.
bool bpf_sees_more(const EventSpec& event, bool exclude_kernel);

// For the notes of a recording: "cpu-clock by perf: tag from the register, ...".
std::string describe(const EventSpec& event, SampledBy by, bool exclude_kernel);

}  // namespace tailor::capture
