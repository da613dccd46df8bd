// Data segments of a store as a profile, whatever executions are in them.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "daemon/query/load/profile.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"

namespace tailor::serve {

// Where the segments' contents go before they come to the loader; empty: to the loader.
using Through = std::function<profile::ProfileSink&(query::ProfileLoader&)>;

// `segments` are data segments of one recording that follow each other, in that order, and not empty. Those
// that are gone are in the profile's read_report(). Fails where Profile::load_store does.
Result<query::Profile> load_segments(const std::string& directory, const store::Catalogue& catalogue,
                                     std::span<const store::SegmentRow> segments,
                                     const query::LoadOptions& options, const Through& through = {});

}  // namespace tailor::serve
