// A profile of one process and a span of time, out of the store of a daemon.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/query/load/damage.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/query/symbols/symbol_cache.h"
#include "daemon/store/output_file.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::cli {

struct Span {
  ProcessId process;
  TimeNs from = 0, to = 0;
  std::string store;  // its directory
};

// Of the newest recording. The functions that were hit are named once more: the daemon may have left names
// out. `kept` and `cache` as for query::HitFunctions::names(). Gives how many samples it wrote: what was
// damaged in the store is not among them. `on_damage` may be empty.
Result<std::uint64_t> write_span(const Span& span, const std::string& output, const store::OutputOptions& how,
                                 const query::FindKept& kept, const query::SymbolCache* cache,
                                 const query::OnDamage& on_damage = {});

}  // namespace tailor::cli
