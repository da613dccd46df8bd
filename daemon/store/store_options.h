// How a store is written, and what of it stays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "daemon/os/files.h"
#include "daemon/store/catalogue_budget.h"
#include "daemon/store/encoder.h"

namespace tailor::store {

struct StoreOptions {
  std::uint64_t segment_bytes = 64u << 20;                // a data segment ends at this size
  TimeNs segment_time = 600'000'000'000;                  // or when it covers this much time
  std::uint64_t dictionary_bytes = 64u << 20;             // a dictionary segment ends at this size
  std::uint64_t keep_bytes = 4ull << 30;                  // retention: of all segments together, 0 for ever
  std::uint64_t keep_ns = 7ull * 86'400 * 1'000'000'000;  // and by age, 0 for ever
  // The data of a user beyond a share of `keep_bytes` go before the data of others (disk_shares.h).
  bool disk_shares = true;
  // Of the catalogue, 0 any number; what is beyond goes (catalogue_budget.h).
  std::uint64_t catalogue_bytes = catalogue_budget(4ull << 30);
  // Short executions that no sample names have no row of their own (unsampled_executions.h).
  bool sum_unsampled = false;
  bool summaries = false;                 // retention waits until a segment is summed up: due_for_summary()
  TimeNs sync_interval = 10'000'000'000;  // what a power failure may cost at most
  TimeNs flush_interval = 500'000'000;    // what the death of the daemon may cost, beside what waits
  // Something cannot be written, and why; empty: it can again. Called from the sink calls.
  std::function<void(const std::string& problem)> on_problem;
  // What was renamed because it cannot be used, or could not be brought up to date, and what was deleted; for
  // the log. Called from open() and the sink calls.
  std::function<void(const std::string& what)> on_put_aside, on_removed;
  EncoderOptions encoder;
  os::Files* files = &os::real_files();
  // The catalogue is kept, and what is too old removed, on a thread of its own: see CatalogueKeeper. Without,
  // within the sink calls.
  bool own_thread = false;
};

}  // namespace tailor::store
