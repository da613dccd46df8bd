// From a profile to samples with stacks of names, for the writers of daemon/formats.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/formats/trace.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::exporter {

// What a stack is made of, outermost first.
struct TraceOptions {
  // "process", "plan", "pipeline", "function" (the call chain, as far as it is known), "levels" (all levels
  // of a plan but the lowest, from the top down), or the name of a level ("operator").
  std::vector<std::string> levels = {"process", "plan", "levels", "function"};
  std::string producer;                                      // for those formats that name who wrote them
  std::function<bool(const query::TimedSample&)> keep = {};  // which samples of the selection; empty: all
  TimeNs from = kTimeMin, to = kTimeMax;                     // executions are drawn within [from, to) only
  bool may_be_empty = false;                                 // a profile without samples is no failure
  // Frames have the build id of their file: functions of one name are two if their files differ.
  bool build_ids = false;
  // What makes two executions runs of the same query; empty: nobody wants to know.
  std::function<std::string(ProcessId, ExecutionHandle)> fingerprint = {};
};

// All samples of the selection, of every source or of the one that it names. `profile` must have been loaded
// with LoadOptions::keep_samples and LoadOptions::functions. A sample that several components own has one
// frame with all their names. Fails where there are no samples (but for `may_be_empty`), and for a level that
// no plan has.
Result<formats::Trace> make_trace(const query::Profile& profile, const query::Selection& selection,
                                  const TraceOptions& options);

}  // namespace tailor::exporter
