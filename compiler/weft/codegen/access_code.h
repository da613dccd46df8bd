// What operators tell the profiler of their use of memory (docs/bounds.md). A count without a value is one
// that nobody knows.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/weft/plan/operator.h"
#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft {

// Whether the consumer's code for rows of `op` is generated once. An outer join that builds its preserved
// side hands rows on at two places, and nobody counts how many at each.
bool arrives_at_one_place(const Operator& op);

// The rows that `op` hands on: all of them, and those at each place of its consumer's code.
v1::Count rows_of(const Operator& op);
v1::Count rows_at_a_place(const Operator& op);

// Accesses to the regions of that name of the operator `owner`. Whether they read or write is for the caller
// to say.
v1::Access unknown_access(const std::string& region, ComponentId owner, std::uint32_t item_bytes);
v1::Access sequential_access(const std::string& region, ComponentId owner, std::uint32_t item_bytes,
                             const v1::Count& items);
v1::Access random_access(const std::string& region, ComponentId owner, std::uint32_t item_bytes,
                         const v1::Count& items, const v1::Count& accesses);

}  // namespace tailor::weft
