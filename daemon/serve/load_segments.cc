#include "daemon/serve/load_segments.h"

#include <algorithm>

#include "daemon/store/store_reader.h"

namespace tailor::serve {

Result<query::Profile> load_segments(const std::string& directory, const store::Catalogue& catalogue,
                                     std::span<const store::SegmentRow> segments,
                                     const query::LoadOptions& options, const Through& through) {
  store::StoreSelection selection;
  selection.recording = segments.front().recording;
  TimeNs first = kTimeMax, last = kTimeMin;
  for (const store::SegmentRow& row : segments) {
    selection.segments.insert(row.number);
    first = std::min(first, row.first);
    last = std::max(last, row.last);
  }
  return query::Profile::load_from(options, [&](query::ProfileLoader& loader) -> Status {
    // Samples may name executions that ended in an earlier segment: the catalogue has them as long as that.
    Status known = catalogue.executions_within(
        selection.recording, first, last,
        [&](const profile::ExecutionRecord& record) { loader.on_execution(record); });
    if (!known) return known;
    profile::ProfileSink& to = through ? through(loader) : loader;
    return store::read_store(directory, catalogue, selection, to, loader.read_report(), loader.said_loss(),
                             query::asked_after_blocks(loader, options.stop));
  });
}

}  // namespace tailor::serve
