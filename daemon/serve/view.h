// What one request looks at: a profile, what of it was selected, and the samples that its filters let
// through.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/query/time/iterations.h"
#include "daemon/serve/library.h"

namespace tailor::serve {

// Times are since the view's origin.
struct Filters {
  std::string source;                    // its name; empty: the one a report shows
  std::optional<TimeNs> from_ns, to_ns;  // [from, to)
  std::optional<std::int32_t> tid, pid;
  std::optional<std::uint32_t> pipeline, op;
  std::string plan;  // its key: whose numbers `pipeline` and `op` are; empty: those of any plan
  std::optional<std::uint64_t> iteration;
  std::string loop;
  query::IterationsFrom iterations_from = query::IterationsFrom::kBest;

  // Whether single samples are needed to apply them.
  bool need_samples() const { return from_ns || to_ns || tid || pipeline || op || iteration; }
  // Whether a time is all that they choose, beside a source and a thread.
  bool is_of_time_alone() const {
    return (from_ns || to_ns) && !pid && !pipeline && !op && plan.empty() && !iteration;
  }
};

// Of several executions that were asked for: those that a view is of.
struct ViewedRuns {
  std::uint64_t executions = 0;
  std::uint64_t sampled = 0;   // of them, those with samples
  std::uint64_t left_out = 0;  // older ones
};

struct View {
  std::string id;                               // of the execution; "all", or "" where there are several
  std::shared_ptr<const query::Profile> whole;  // as it was loaded
  query::Profile profile;                       // with the samples that the filters let through
  query::Selection selection;
  std::vector<std::string> notes = {};    // of Loaded
  std::optional<ViewedRuns> runs = {};    // where executions were chosen among several
  TimeNs origin = 0;                      // begin of the executions, else of the recording
  TimeNs from = kTimeMin, to = kTimeMax;  // [from, to) of the filters
  // Of the filters: of a sample with several owners they have a part.
  std::optional<std::uint32_t> pipeline, op;
  std::string plan;
  // The filters for single samples of `whole`; empty: all of the selection.
  std::function<bool(const query::TimedSample&)> keep = {};
  // The same without the filters for time.
  std::function<bool(const query::TimedSample&)> keep_of_any_time = {};
};

// What times of a view of it are since.
TimeNs origin_of(const query::Profile& profile, const query::Selection& selection);
// A time since the origin as one of the profile; what lies beyond any is the most there is.
TimeNs time_since(TimeNs origin, TimeNs since);

// Loads and filters. Fails where Library::load does, for a source, process or iteration that is not there,
// and once `stop` says so.
Result<View> open_view(Library& library, const Target& target, const Filters& filters, Detail detail,
                       const Stop& stop, const Visible& visible = {});

// Without a file or store: of what is loaded.
Result<View> make_view(Loaded loaded, const Filters& filters);

}  // namespace tailor::serve
