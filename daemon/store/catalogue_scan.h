// Brings a catalogue up to date with the segments that lie in the store.
#pragma once

#include <functional>
#include <string>

#include "daemon/os/files.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_budget.h"
#include "proto/base/result.h"

namespace tailor::store {

// How large it may become (CatalogueBudget), and CLOCK_REALTIME now.
struct CatalogueLimit {
  std::uint64_t bytes = 0;
  std::uint64_t wall_ns = 0;
};

// Reads every segment that the catalogue does not know or knows as unfinished, and forgets those whose file
// is gone. For use before anything is written: an unfinished segment is taken for one whose writer was
// killed. A segment that is no profile stays where it is and is not entered. Rows beyond the limit go.
Status catalogue_segments(const std::string& directory, Catalogue& catalogue, const CatalogueLimit& limit);

// The catalogue of a store, up to date. One that cannot be used is renamed (catalogue.bad), `on_put_aside`
// is told, and it is made again: the segments hold all that it held. Fails, and leaves it as it is, with
// ENOTSUP where a newer program wrote it, with EBUSY where another program reads it all the time.
Result<Catalogue> open_for_writing(const std::string& directory, os::Files& files,
                                   const std::function<void(const std::string& what)>& on_put_aside,
                                   const CatalogueLimit& limit);

}  // namespace tailor::store
