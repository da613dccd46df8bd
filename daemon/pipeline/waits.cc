#include "daemon/pipeline/waits.h"

namespace tailor::pipeline {

void Waits::returned(const capture::Event& switch_in, SampleStage& to) {
  if (capture::Batch* wait = tracker_.returned(switch_in)) to.take(*wait, wait->events.front());
}

// A wait that is not over when the recording is has lasted until then.
void Waits::give_cut(TimeNs watermark, SampleStage& to) {
  std::erase_if(cuts_, [&](const Cut& cut) {
    if (cut.time > watermark) return false;
    for (capture::Batch& wait : tracker_.cut(cut.pid, cut.time)) to.take(wait, wait.events.front());
    return true;
  });
}

}  // namespace tailor::pipeline
