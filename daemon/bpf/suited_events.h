// Which events a BPF program can take the samples of.
#pragma once

#include "daemon/capture/select/event_spec.h"

namespace tailor::bpf {

// Whether a program can take the samples of this event (capture/tag_ways.h). Not where switches are sampled:
// their call chain is perf's.
bool suits(const capture::EventSpec& event);

}  // namespace tailor::bpf
