#include "daemon/pipeline/sorted_events.h"

#include <linux/perf_event.h>

#include <string_view>

namespace tailor::pipeline {

void SortedEvents::recorded(const profile::RecordingInfo& info) {
  waits_.recorded(info.sources);
  samples_.recorded(info);
}

void SortedEvents::give(TimeNs watermark) {
  samples_.settle();
  waits_.give_cut(watermark, samples_);
  samples_.flush();
  news_.tell_regions();
}

// A late sample may have lost the code it ran in: it is counted, not guessed at. The rest is still of use.
void SortedEvents::take_late(capture::Batch& late) {
  for (capture::Event& event : late.events) {
    if (event.kind == capture::Kind::kSample) {
      samples_.late(event);
    } else {
      take(late, event);
    }
  }
}

void SortedEvents::take(const capture::Batch& batch, capture::Event& event) {
  switch (event.kind) {
    case capture::Kind::kSample:
      if (!waits_.keep(batch, event)) samples_.take(batch, event);
      return;
    case capture::Kind::kSwitchOut:
      return waits_.left(event);
    case capture::Kind::kSwitchIn:
      return waits_.returned(event, samples_);
    case capture::Kind::kKernelSymbol:
      return kernel_symbol(batch, event);
    case capture::Kind::kComm:
      samples_.settle();
      return lives_.named(batch, event);
    case capture::Kind::kMmap:
      samples_.settle();
      if (ProcessEntry* entry = accounts_.owner(event.pid, event.time))
        mappings_.mapped(*entry, batch, event);
      return;
    case capture::Kind::kFork:
      samples_.settle();
      if (event.pid != event.parent_pid) lives_.forked(event);
      return;
    case capture::Kind::kExit:
      samples_.settle();
      waits_.ended(event);
      return lives_.exited(event);
    case capture::Kind::kNotDrawn:
      return samples_.not_drawn(event.pid, event.time, event.weight, event.size);
    default:
      return;
  }
}

// Symbols of the kernel itself are told for waits, of what it loads while it runs for names.
void SortedEvents::kernel_symbol(const capture::Batch& batch, const capture::Event& event) {
  const std::string_view name = batch.text_of(event);
  const bool bpf = event.data_source == PERF_RECORD_KSYMBOL_TYPE_BPF;
  if (!bpf && event.data_source != PERF_RECORD_KSYMBOL_TYPE_OOL) return waits_.learn(event, name);
  if (!kernel_code_.add({event.time, event.address, event.size, name, bpf, event.flag_exec}))
    problems_.add({}, "a symbol of the kernel that cannot be");
}

}  // namespace tailor::pipeline
