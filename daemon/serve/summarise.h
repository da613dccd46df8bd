// What the samples and executions of data segments come to: before retention removes them, and whenever a
// query's history is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

struct Summarised {
  store::Summary summary;
  std::vector<std::uint64_t> missing;  // segments that were removed meanwhile
  store::ReadReport read;              // of the others
  store::SaidLoss loss;
};

// `segments` are data segments of one recording that follow each other, in that order, and not empty. Adding
// up what several calls give for the parts of a row of segments gives the same as one call for all of it.
// What damage took counts as unwritten. Fails where Profile::load_store does.
Result<Summarised> summarise(const std::string& directory, const store::Catalogue& catalogue,
                             std::span<const store::SegmentRow> segments, const Stop& stop);

// How many of the first of `rows`, which are data segments by number, one call should take: those of one
// recording, up to some 64 MB.
std::size_t one_batch(std::span<const store::SegmentRow> rows);

}  // namespace tailor::serve
