#include "daemon/bpf/suited_events.h"

#include <linux/perf_event.h>

#include "daemon/capture/select/tag_ways.h"

namespace tailor::bpf {

bool suits(const capture::EventSpec& event) {
  return capture::find_tag_row(event.mechanism, capture::SampledBy::kBpf) != nullptr && !event.callchain &&
         event.config != PERF_COUNT_SW_DUMMY;
}

}  // namespace tailor::bpf
