// Accesses to two regions of memory, made by hand: a scan of a column, and a hash table in no order.
#pragma once

#include "daemon/profile/sink.h"

namespace tailor::test {

// With the context of sample_profile.h. Kind 5 is the column "l_orderkey", 80 KB at 0x10000, which the scan
// of lineitem reads from its begin to its end; L1 has the data. Kind 6 is the hash table "orders", 64 KB at
// 0x80000, which the hash join reads at places without an order; RAM has the data. 128 accesses each, 1 ms
// of both after the other.
void give_region_accesses(profile::ProfileSink& sink);

}  // namespace tailor::test
