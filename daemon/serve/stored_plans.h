// The shapes of plans that a store holds.
#pragma once

#include <set>
#include <string>

#include "daemon/query/load/damage.h"
#include "daemon/serve/plan_key.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

// Reads the dictionary segments that hold these plans, and no other. `on_damage` may be empty.
Result<PlanShapes> shapes_in_store(const std::string& directory, const store::Catalogue& catalogue,
                                   const std::set<PlanKey>& plans, const Stop& stop,
                                   const query::OnDamage& on_damage = {});

}  // namespace tailor::serve
