// Sums of accountings.
#pragma once

#include "daemon/store/sink.h"

namespace tailor::session {

inline void add(store::Accounting& to, const store::Accounting& from) {
  to.received += from.received;
  to.attributed += from.attributed;
  to.unattributed += from.unattributed;
  to.filtered += from.filtered;
  to.late += from.late;
  to.lost_ring += from.lost_ring;
  to.lost_hardware += from.lost_hardware;
  to.throttled += from.throttled;
  to.gap_ns += from.gap_ns;
  to.log_records += from.log_records;
  to.log_lost += from.log_lost;
  to.messages += from.messages;
  to.messages_rejected += from.messages_rejected;
  to.agent_dropped += from.agent_dropped;
}

}  // namespace tailor::session
