#include "daemon/query/sums/call_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "daemon/query/sums/own_agent.h"

namespace tailor::query {
namespace {

constexpr std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{first} << 32 | second;
}

// A call tree of all samples; each node has one function.
class GrowingCalls {
 public:
  GrowingCalls() : nodes_(1) {}

  // `functions` from the root down.
  template <typename Functions>
  void add(const Functions& functions, const CallCost& cost) {
    std::uint32_t at = 0;
    nodes_[0].total.add(cost);
    for (const std::uint32_t function : functions) {
      const std::uint32_t below = child(at, function);
      if (below == 0) return;
      at = below;
      nodes_[at].total.add(cost);
    }
    nodes_[at].self.add(cost);
  }

  // The dearest nodes.
  CallTree prune(std::size_t most) const {
    CallTree out;
    std::vector<std::uint32_t> numbers;  // of `out` in this tree
    std::priority_queue<Candidate> next;
    next.push({0, 0, nodes_[0].total.weight});
    while (!next.empty() && out.size() < most) {
      const Candidate dearest = next.top();
      next.pop();
      const Node& node = nodes_[dearest.node];
      const auto number = static_cast<std::uint32_t>(out.size());
      out.push_back({node.function, dearest.parent, node.total, node.self});
      numbers.push_back(dearest.node);
      for (const std::uint32_t below : node.children) next.push({below, number, nodes_[below].total.weight});
    }
    add_rests(numbers, out);
    return out;
  }

 private:
  static constexpr std::size_t kMostNodes = std::size_t{1} << 20;
  struct Node {
    std::uint32_t function = CallTreeNode::kRoot;
    CallCost total, self;
    std::vector<std::uint32_t> children = {};
  };
  struct Candidate {
    std::uint32_t node, parent;
    double weight;
    bool operator<(const Candidate& other) const {
      return weight != other.weight ? weight < other.weight : node > other.node;
    }
  };

  // 0: the tree is full.
  std::uint32_t child(std::uint32_t parent, std::uint32_t function) {
    const auto [known, fresh] = numbers_.try_emplace(pair_of(parent, function), 0);
    if (!fresh) return known->second;
    if (nodes_.size() >= kMostNodes) {
      numbers_.erase(known);
      return 0;
    }
    known->second = static_cast<std::uint32_t>(nodes_.size());
    nodes_[parent].children.push_back(known->second);
    nodes_.push_back({function, {}, {}});
    return known->second;
  }

  // What a node has beyond its self and the nodes below it that are shown is one more node there.
  void add_rests(const std::vector<std::uint32_t>& numbers, CallTree& out) const {
    const std::set<std::uint32_t> shown(numbers.begin(), numbers.end());
    for (std::uint32_t at = 0; at < numbers.size(); ++at) {
      const Node& node = nodes_[numbers[at]];
      CallCost all, hidden;
      std::uint32_t merged = 0;
      for (const std::uint32_t below : node.children) {
        all.add(nodes_[below].total);
        if (shown.contains(below)) continue;
        hidden.add(nodes_[below].total);
        ++merged;
      }
      // Chains that were too many to be followed from here.
      const double cut = node.total.samples - node.self.samples - all.samples;
      if (cut > 1e-6) {
        hidden.add({cut, node.total.weight - node.self.weight - all.weight});
        ++merged;
      }
      if (merged > 0) out.push_back({CallTreeNode::kRest, at, hidden, hidden, merged});
    }
  }

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by parent and function
};

class CallCollector {
 public:
  CallCollector(const Profile& profile, const NamedFunctions& names, const Selection& selection,
                std::uint16_t source, const CallTreeOptions& options)
      : profile_(profile),
        names_(names),
        options_(options),
        owners_(profile, selection, source, OwnedBy::kOperator),
        own_(names.size()) {
    out_.source = profile.source(source);
  }

  void collect() {
    double squares = 0;
    for (const TimedSample& sample : profile_.samples()) {
      const std::vector<OwnerPart>* parts = owners_.parts(sample.key);
      if (parts == nullptr || (options_.keep && !options_.keep(sample))) continue;
      const auto weight = static_cast<double>(sample.weight);
      if (is_own_wait(*sample.key)) {
        out_.left_out.add({1, weight});
        continue;
      }
      for (const OwnerPart& part : *parts) {
        if (!is_wanted(part)) continue;
        const CallCost cost{part.part, weight * part.part};
        sums_[pair_of(sample.node, part.owner)].add(cost);
        out_.total.add(cost);
        squares += weight * weight * part.part;
      }
    }
    out_.effective_samples = squares > 0 ? out_.total.weight * out_.total.weight / squares : 0;
  }

  CallTrees finish() {
    std::vector<std::pair<std::uint64_t, CallCost>> sums(sums_.begin(), sums_.end());
    std::ranges::sort(sums, {}, &std::pair<std::uint64_t, CallCost>::first);
    for (auto from = sums.begin(); from != sums.end();) {
      const auto node = static_cast<std::uint32_t>(from->first >> 32);
      const auto to =
          std::find_if(from, sums.end(), [&](const auto& each) { return each.first >> 32 != node; });
      add_chain(node, {from, to});
      from = to;
    }
    out_.callees = callees_.prune(options_.nodes);
    out_.callers = callers_.prune(options_.nodes);
    add_libraries();
    choose_functions();
    return std::move(out_);
  }

 private:
  using Sums = std::span<const std::pair<std::uint64_t, CallCost>>;  // by node and owner
  struct Own {
    CallCost self, total;
  };

  bool is_own_wait(const CellKey& key) const {
    return key.engine_component == kOwnAgent && out_.source.unit == profile::Unit::kNsOffCpu;
  }

  bool is_wanted(const OwnerPart& part) const {
    if (options_.in_pipeline && !options_.in_pipeline(part.pipeline)) return false;
    if (!options_.is_wanted) return true;
    const auto [known, fresh] = wanted_.try_emplace(part.owner, false);
    if (fresh) known->second = options_.is_wanted(owners_.owners()[part.owner]);
    return known->second;
  }

  void add_chain(std::uint32_t node, const Sums& sums) {
    CallCost all;
    for (const auto& [key, cost] : sums) all.add(cost);
    names_.chain_of(profile_.functions(), node, chain_);
    callers_.add(chain_, all);
    if (chain_.size() > 1) out_.with_chain.add(all);
    std::ranges::reverse(chain_);
    callees_.add(chain_, all);
    if (chain_.empty()) return;
    const std::uint32_t innermost = chain_.back();
    own_[innermost].self.add(all);
    std::ranges::sort(chain_);
    chain_.erase(std::unique(chain_.begin(), chain_.end()), chain_.end());
    for (const std::uint32_t function : chain_) own_[function].total.add(all);
    for (const auto& [key, cost] : sums) {
      const auto owner = static_cast<std::uint32_t>(key);
      by_owner_[pair_of(innermost, owner)].self.add(cost);
      for (const std::uint32_t function : chain_) by_owner_[pair_of(function, owner)].total.add(cost);
    }
  }

  void add_libraries() {
    std::map<std::string, CallCost> sums;
    for (std::uint32_t i = 0; i < own_.size(); ++i) {
      if (own_[i].self.samples > 0) sums[names_.at(i).object].add(own_[i].self);
    }
    for (const auto& [name, cost] : sums) out_.libraries.push_back({name, cost});
    std::ranges::stable_sort(out_.libraries, std::greater(),
                             [](const LibraryCost& each) { return each.self.weight; });
    while (out_.libraries.size() > options_.libraries) {
      out_.rest_of_libraries.add(out_.libraries.back().self);
      ++out_.more_libraries;
      out_.libraries.pop_back();
    }
  }

  // The dearest by their own code and with what they called, and all that are in the trees.
  void choose_functions() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < own_.size(); ++i) {
      if (own_[i].total.samples > 0) all.push_back(i);
    }
    std::set<std::uint32_t> chosen;
    const auto choose = [&](CallCost Own::* by) {
      std::ranges::stable_sort(all, std::greater(),
                               [&](std::uint32_t each) { return (own_[each].*by).weight; });
      const std::size_t most = std::min(all.size(), options_.functions);
      chosen.insert(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most));
    };
    choose(&Own::total);
    choose(&Own::self);
    for (const CallTree* tree : {&out_.callees, &out_.callers}) {
      for (const CallTreeNode& node : *tree) {
        if (node.function < CallTreeNode::kRest) chosen.insert(node.function);
      }
    }
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    for (const std::uint32_t function : all) {
      if (chosen.contains(function)) {
        numbers[function] = static_cast<std::uint32_t>(out_.functions.size());
        out_.functions.push_back({names_.at(function), own_[function].self, own_[function].total});
      } else {
        out_.rest.add(own_[function].self);
        ++out_.more_functions;
      }
    }
    for (CallTree* tree : {&out_.callees, &out_.callers}) {
      for (CallTreeNode& node : *tree) {
        if (node.function < CallTreeNode::kRest) node.function = numbers.at(node.function);
      }
    }
    add_owners(numbers);
  }

  void add_owners(const std::unordered_map<std::uint32_t, std::uint32_t>& numbers) {
    std::map<std::uint32_t, std::uint32_t> known;  // owners of these samples
    std::vector<std::pair<std::uint64_t, Own>> sums(by_owner_.begin(), by_owner_.end());
    std::ranges::sort(sums, {}, &std::pair<std::uint64_t, Own>::first);
    for (const auto& [key, own] : sums) known.try_emplace(static_cast<std::uint32_t>(key));
    if (known.size() < 2) return;
    for (auto& [owner, number] : known) {
      number = static_cast<std::uint32_t>(out_.owners.size());
      out_.owners.push_back(owners_.owners()[owner]);
    }
    for (const auto& [key, own] : sums) {
      const auto function = numbers.find(static_cast<std::uint32_t>(key >> 32));
      if (function == numbers.end()) continue;
      out_.functions[function->second].owners.push_back(
          {known[static_cast<std::uint32_t>(key)], own.self, own.total});
    }
    for (CalledFunction& each : out_.functions) {
      std::ranges::stable_sort(each.owners, std::greater(),
                               [](const FunctionOfOwner& of) { return of.total.weight; });
      if (each.owners.size() > options_.owners) each.owners.resize(options_.owners);
    }
  }

  const Profile& profile_;
  const NamedFunctions& names_;
  const CallTreeOptions& options_;
  const OwnerTable owners_;
  mutable std::unordered_map<std::uint32_t, bool> wanted_;  // by owner
  std::unordered_map<std::uint64_t, CallCost> sums_;        // by the node of the innermost frame, and owner
  std::vector<Own> own_;                                    // by function
  std::unordered_map<std::uint64_t, Own> by_owner_;         // by function and owner
  GrowingCalls callees_, callers_;
  std::vector<std::uint32_t> chain_;
  CallTrees out_;
};

}  // namespace

Result<CallTrees> call_trees(const Profile& profile, const NamedFunctions& names, const Selection& selection,
                             const CallTreeOptions& options) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return not_found("no sample in this selection");
  CallCollector collector(profile, names, selection, *source, options);
  collector.collect();
  CallTrees out = collector.finish();
  if (out.total.samples == 0)
    return not_found(fmt::format("there is no sample of {} in this selection", out.source.name));
  return out;
}

}  // namespace tailor::query
