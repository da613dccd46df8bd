#include "daemon/session/sampling_notes.h"

#include <algorithm>

namespace tailor::session {

void SamplingNotes::opened(ProcessId process, const capture::Attached& events) {
  facts_.opened(events.sources, events.adds_up);
  set(process, events.notes);
}

void SamplingNotes::set(ProcessId process, std::vector<std::string> notes) {
  notes_ = std::move(notes);
  tell(process);
}

void SamplingNotes::add(ProcessId process, std::string note) {
  notes_.push_back(std::move(note));
  tell(process);
}

void SamplingNotes::tell(ProcessId process) {
  std::vector<std::string> notes = notes_;
  if (std::string overhead = overhead_.text(process); !overhead.empty()) notes.push_back(std::move(overhead));
  if (std::string shared = capture::tell_shared_counters(counted_); !shared.empty())
    notes.push_back(std::move(shared));
  facts_.sampling_notes(notes);
}

void SamplingNotes::add_counted(ProcessId process, const std::vector<capture::CountedTime>& times) {
  for (const capture::CountedTime& each : times) {
    const auto known = std::ranges::find(counted_, each.source, &capture::CountedTime::source);
    if (known == counted_.end()) {
      counted_.push_back(each);
      continue;
    }
    known->enabled_ns += each.enabled_ns;
    known->running_ns += each.running_ns;
  }
  if (!capture::tell_shared_counters(counted_).empty()) tell(process);
}

}  // namespace tailor::session
