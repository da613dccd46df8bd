#include "daemon/tailord/published_counts.h"

#include <utility>

#include "daemon/store/meta_codec.h"

namespace tailor::tailord {

void PublishedCounts::publish(const store::StoreWriter& store, const Triggers& triggers) {
  v1::DaemonStatus counts;
  for (const TriggerCounts& each : triggers.counts()) {
    v1::TriggerStatus& to = *counts.add_triggers();
    to.set_name(store::to_utf8(each.name));
    to.set_fired(each.fired);
    to.set_skipped(each.skipped);
  }
  const store::WriteStats written = store.stats();
  v1::WriterLoss& loss = *counts.mutable_store_loss();
  loss.set_samples(written.lost_samples);
  loss.set_activity(written.lost_activity);
  loss.set_blocks(written.lost_blocks);
  loss.set_reason(written.loss_reason);
  counts.set_store_problem(store.last_problem());
  std::lock_guard lock(mutex_);
  counts_.Swap(&counts);
}

void PublishedCounts::add_to(v1::DaemonStatus& out) const {
  std::lock_guard lock(mutex_);
  out.MergeFrom(counts_);
}

}  // namespace tailor::tailord
