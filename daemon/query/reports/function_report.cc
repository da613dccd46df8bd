#include "daemon/query/reports/function_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "daemon/query/reports/thread_begins.h"
#include "proto/base/utf8.h"

namespace tailor::query {
namespace {

struct Cost2 {
  Amount self, total;
};

// A call tree whose nodes are functions, not places.
struct CallNode {
  std::uint32_t function = 0;
  Cost2 cost;
  std::map<std::uint32_t, std::size_t> callees;  // by function; into the tree
};

class Summing {
 public:
  Summing(const Profile& profile, const NamedFunctions& names)
      : sums_(profile.functions()), names_(names), by_function_(names.size()), tree_(1) {}

  void add(const FunctionSums::Key& key, const Cell& cell) {
    names_.chain_of(sums_, key.node, chain_);
    if (chain_.empty()) return;
    if (begins_thread(names_.at(chain_.back()).name)) whole_ += static_cast<double>(cell.samples);
    CellKey as_cell;
    as_cell.kernel = names_.at(chain_.front()).kind == Function::Kind::kKernel;
    if (names_.at(chain_.front()).name.empty())
      unnamed_[sums_.nodes[key.node].place].add(cell, as_cell, 1, false);
    by_function_[chain_.front()].self.add(cell, as_cell, 1, false);
    std::size_t at = 0;
    for (auto function = chain_.rbegin(); function != chain_.rend(); ++function) {
      at = callee(at, *function);
      tree_[at].cost.total.add(cell, as_cell, 1, false);
    }
    tree_[at].cost.self.add(cell, as_cell, 1, false);
    // Recursion counts once.
    std::ranges::sort(chain_);
    chain_.erase(std::unique(chain_.begin(), chain_.end()), chain_.end());
    for (std::uint32_t function : chain_) by_function_[function].total.add(cell, as_cell, 1, false);
  }

  const std::vector<Cost2>& functions() const { return by_function_; }
  const std::vector<CallNode>& tree() const { return tree_; }
  const std::map<std::uint32_t, Amount>& unnamed() const { return unnamed_; }
  double whole() const { return whole_; }  // samples with a whole call chain

 private:
  std::size_t callee(std::size_t caller, std::uint32_t function) {
    const auto [known, fresh] = tree_[caller].callees.try_emplace(function, tree_.size());
    const std::size_t number = known->second;
    if (fresh) tree_.emplace_back().function = function;
    return number;
  }

  const FunctionSums& sums_;
  const NamedFunctions& names_;
  std::vector<Cost2> by_function_;
  std::vector<CallNode> tree_;  // the first is the root
  double whole_ = 0;
  std::map<std::uint32_t, Amount> unnamed_;  // by place
  std::vector<std::uint32_t> chain_;
};

// What is large enough to be shown, the largest first.
void add_calls(const std::vector<CallNode>& tree, const NamedFunctions& names, const Scale& scale,
               double least, std::size_t node, std::uint32_t depth, std::vector<CallRow>& out) {
  std::vector<std::size_t> callees;
  for (const auto& [function, callee] : tree[node].callees) {
    if (scale(tree[callee].cost.total).share >= least) callees.push_back(callee);
  }
  std::ranges::stable_sort(callees, [&](std::size_t a, std::size_t b) {
    return tree[a].cost.total.weight > tree[b].cost.total.weight;
  });
  for (std::size_t callee : callees) {
    const Function& function = names.at(tree[callee].function);
    out.push_back({shown_name(function), function, depth, callee == callees.back(),
                   scale(tree[callee].cost.self), scale(tree[callee].cost.total)});
    add_calls(tree, names, scale, least, callee, depth + 1, out);
  }
}

std::vector<ObjectRow> objects_of(const std::vector<FunctionRow>& functions, const Scale& scale) {
  std::map<std::string, Amount> sums;
  for (const FunctionRow& row : functions) {
    const std::string& object = row.function.object;
    sums[object.empty() ? "[no file]" : object].add(row.cost.amount);
  }
  std::vector<ObjectRow> rows;
  for (const auto& [name, amount] : sums) rows.push_back({name, scale(amount)});
  most_expensive_first(rows);
  std::erase_if(rows, [](const ObjectRow& row) { return row.cost.amount.weight == 0; });
  return rows;
}

void add_unnamed(const Profile& profile, const NamedFunctions& names, const Summing& sums, const Scale& scale,
                 std::size_t most, FunctionReport& report) {
  Amount rest;
  std::vector<std::pair<std::uint32_t, Amount>> places(sums.unnamed().begin(), sums.unnamed().end());
  std::ranges::stable_sort(places, std::greater(), [](const auto& each) { return each.second.weight; });
  for (const auto& [number, amount] : places) {
    if (report.unnamed.size() == most) {
      rest.add(amount);
      ++report.more_unnamed;
      continue;
    }
    const CodePlace& place = profile.functions().places[number];
    const bool in_file = place.kind == CodePlace::Kind::kFile;
    report.unnamed.push_back(
        {place_name(place, names.at(names.of_place(number))),
         in_file ? replace_non_utf8(profile.functions().files[place.file].path) : std::string(),
         scale(amount)});
  }
  report.rest_unnamed = scale(rest);
}

}  // namespace

Result<FunctionReport> function_report(const Profile& profile, const Selection& selection,
                                       const FunctionOptions& options) {
  auto summary = plan_report(profile, selection);
  if (!summary) return summary.error();
  FunctionReport report;
  report.summary = *std::move(summary);
  const NamedFunctions names(profile);
  Summing sums(profile, names);
  double samples = 0, with_chain = 0;
  for (const auto& [key, cell] : profile.function_cells()) {
    const auto [process, execution] = profile.led_by(key.process, key.execution);
    if (key.source != report.summary.source.index || !selected(selection, process, execution)) continue;
    sums.add(key, cell);
    samples += static_cast<double>(cell.samples);
    if (profile.functions().nodes[key.node].caller != 0) with_chain += static_cast<double>(cell.samples);
  }
  const Scale scale = scale_of(report.summary);
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const Cost2& cost = sums.functions()[i];
    if (cost.total.weight == 0) continue;
    report.functions.push_back({shown_name(names.at(i)), names.at(i), scale(cost.self), scale(cost.total)});
  }
  most_expensive_first(report.functions);
  report.objects = objects_of(report.functions, scale);
  add_unnamed(profile, names, sums, scale, options.most_unnamed, report);
  if (with_chain > 0) add_calls(sums.tree(), names, scale, options.least_call, 0, 0, report.calls);
  report.with_chain = samples > 0 ? with_chain / samples : 0;
  report.whole_chain = samples > 0 ? sums.whole() / samples : 0;
  return report;
}

Result<std::vector<FunctionReport>> other_events(const Profile& profile, const Selection& selection,
                                                 const FunctionReport& report,
                                                 const FunctionOptions& options) {
  std::vector<FunctionReport> out;
  if (selection.source || !profile.is_imported()) return out;
  for (const auto& [source, total] : report.summary.other_sources) {
    Selection of_one = selection;
    of_one.source = source.index;
    auto other = function_report(profile, of_one, options);
    if (!other) return other.error();
    out.push_back(*std::move(other));
  }
  return out;
}

}  // namespace tailor::query
