#include "daemon/pipeline/process_news.h"

#include <vector>

namespace tailor::pipeline {

// A process of which nothing was seen yet has no place in the profile, but as the parent of one that has.
void ProcessNews::tell_record(ProcessEntry& entry) {
  if (!entry.record_changed || entry.record.first_seen == 0) return;
  entry.untold_parents.tell(sink_);
  sink_.on_process(entry.record);
  entry.record_changed = false;
}

void ProcessNews::tell_records() {
  table_.for_each([&](ProcessEntry& entry) { tell_record(entry); });
}

void ProcessNews::tell_regions() {
  table_.for_each([&](ProcessEntry& entry) {
    const std::vector<process::RegionChange> changes = entry.state.take_found_regions();
    if (changes.empty() || all_marks_) return;
    std::vector<profile::ActivityRecord> records;
    for (const process::RegionChange& change : changes) {
      const process::Region& region = change.region;
      const auto kind = change.begins ? TAILOR_LOG_REGION_ADD : TAILOR_LOG_REGION_REMOVE;
      records.push_back({change.time, entry.id(), region.tid, kind, region.kind, region.base,
                         change.begins ? region.end - region.base : 0});
    }
    sink_.on_activity(records);
  });
}

void ProcessNews::tell_accounts() {
  table_.for_each([&](ProcessEntry& entry) {
    tell_record(entry);
    if (!entry.accounting_changed) return;
    sink_.on_accounting(entry.accounting);
    entry.accounting_changed = false;
  });
  if (accounts_.take_nobodys_change()) sink_.on_accounting(accounts_.nobodys());
}

}  // namespace tailor::pipeline
