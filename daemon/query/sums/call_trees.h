// The functions of some of a profile's samples with their call trees, and no more of them than a page can
// show: what is left out is there as sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/named_functions.h"
#include "daemon/query/sums/owners.h"
#include "proto/base/result.h"

namespace tailor::query {

// Fractions come from code that several operators share.
struct CallCost {
  double samples = 0, weight = 0;
  void add(const CallCost& other) {
    samples += other.samples;
    weight += other.weight;
  }
};

// What of a function belongs to an operator, an engine component, or to nobody.
struct FunctionOfOwner {
  std::uint32_t owner = 0;  // into CallTrees::owners
  CallCost self, total;
};

struct CalledFunction {
  Function function;
  CallCost self;   // of its own code
  CallCost total;  // of samples with it anywhere on the call chain; recursion counts once
  std::vector<FunctionOfOwner> owners = {};  // dearest first; empty where there is one owner only
};

struct CallTreeNode {
  static constexpr std::uint32_t kRoot = UINT32_MAX, kRest = UINT32_MAX - 1;
  std::uint32_t function = kRoot;  // into CallTrees::functions
  std::uint32_t parent = 0;        // comes before it
  CallCost total;                  // with everything below it
  CallCost self;                   // of chains that end here
  std::uint32_t merged = 0;        // kRest: the number of its parent's nodes that are together here
};

// The first node is the root. The total of a node is its self and the totals of the nodes right below it.
using CallTree = std::vector<CallTreeNode>;

struct LibraryCost {
  std::string name;  // a file, "[kernel]", "[jit]"; "": in no file
  CallCost self;
};

struct CallTrees {
  profile::Source source;
  CallCost total;
  double effective_samples = 0;           // as of Scale
  CallCost with_chain;                    // of samples that brought callers
  CallCost left_out;                      // waits of the agent's own thread
  std::vector<Owner> owners;              // of these samples
  std::vector<CalledFunction> functions;  // dearest first by their own code
  CallCost rest;                          // of the own code of functions that are not there
  std::size_t more_functions = 0;
  std::vector<LibraryCost> libraries;  // dearest first
  CallCost rest_of_libraries;
  std::size_t more_libraries = 0;
  CallTree callees;  // from the outermost functions down
  CallTree callers;  // from the innermost functions up
};

struct CallTreeOptions {
  std::size_t nodes = 1200;  // of each tree, the dearest; each may have a node for the rest below it
  std::size_t functions = 400;
  std::size_t libraries = 100;
  std::size_t owners = 8;                               // of a function
  std::function<bool(const TimedSample&)> keep = {};    // empty: all samples
  std::function<bool(const Owner&)> is_wanted = {};     // only parts of samples that these own; empty: all
  std::function<bool(std::uint32_t)> in_pipeline = {};  // only parts in these; empty: all
};

// `profile` must have been loaded with LoadOptions::keep_samples and LoadOptions::functions; `names` are its
// own. Fails where the selection has no sample of its source that counts.
Result<CallTrees> call_trees(const Profile& profile, const NamedFunctions& names, const Selection& selection,
                             const CallTreeOptions& options);

}  // namespace tailor::query
