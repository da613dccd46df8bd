// Functions by what they cost, alone and with what they called: for processes that nobody instrumented, and
// below the operators of those that are.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "daemon/query/sums/named_functions.h"
#include "proto/base/result.h"

namespace tailor::query {

struct FunctionRow {
  std::string name;  // never empty: "[unknown]" of a file without names
  Function function;
  Share95 cost;   // of its own code
  Share95 total;  // of all samples with it anywhere on the call chain
};

struct ObjectRow {
  std::string name;
  Share95 cost;
};

// An address of code that nothing names.
struct AddressRow {
  std::string name;  // as of place_name()
  std::string path;  // of its file; "": in none
  Share95 cost;      // of samples that were at it
};

// A function as called by those above it; rows come in the order of the drawn tree.
struct CallRow {
  std::string name;
  Function function;
  std::uint32_t depth = 0;
  bool last = true;  // of its siblings that are shown
  Share95 cost, total;
};

struct FunctionReport {
  PlanReport summary;
  std::vector<FunctionRow> functions;  // most expensive first
  std::vector<ObjectRow> objects;      // files, kernel and generated code, by the cost of their own code
  std::vector<AddressRow> unnamed;     // where samples in functions without a name were, most expensive first
  std::size_t more_unnamed = 0;        // addresses beyond `most_unnamed`
  Share95 rest_unnamed;                // of these
  std::vector<CallRow> calls;          // from the outermost functions down; empty without call chains
  double with_chain = 0;               // part of the samples that brought one
  double whole_chain = 0;              // part of the samples whose call chain leads to where a thread begins
};

struct FunctionOptions {
  double least_call = 0.005;  // calls with a smaller share of everything are left out
  std::size_t most_unnamed = 100;
};

// `profile` must have been loaded with LoadOptions::functions. Fails as plan_report().
Result<FunctionReport> function_report(const Profile& profile, const Selection& selection,
                                       const FunctionOptions& options = {});

// The same of each other event of a perf.data, as `perf report` shows them all; none where `selection` names
// one, or where Tailor recorded.
Result<std::vector<FunctionReport>> other_events(const Profile& profile, const Selection& selection,
                                                 const FunctionReport& report,
                                                 const FunctionOptions& options = {});

// `others`: of other events; their functions follow those of `report`.
std::string to_json(const Profile& profile, const FunctionReport& report,
                    const std::vector<FunctionReport>& others = {});

}  // namespace tailor::query
