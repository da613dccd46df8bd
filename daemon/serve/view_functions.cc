#include "daemon/serve/view_functions.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "daemon/query/reports/row_spreads.h"
#include "daemon/query/sums/call_trees.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/time/no_sample.h"
#include "daemon/serve/short_text.h"
#include "daemon/serve/view_json.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kLongestFunctionName = 240;  // bytes
constexpr std::size_t kFewestTreeNodes = 16;

// Whole numbers without a fraction: most are, and there are many.
Json plain_number(double value) {
  constexpr double kMostExact = 9007199254740992.0;
  if (value == std::floor(value) && std::abs(value) < kMostExact) return static_cast<std::int64_t>(value);
  return value;
}

Json call_cost_json(const query::CallCost& cost) {
  return {{"samples", plain_number(cost.samples)}, {"weight", plain_number(cost.weight)}};
}

Json left_out_json(std::size_t count, const query::CallCost& cost) {
  Json out = {{"count", count}};
  out.update(call_cost_json(cost));
  return out;
}

// Files by their place in a list of names.
class ObjectNumbers {
 public:
  std::size_t number(const std::string& name) {
    const auto [known, fresh] = numbers_.try_emplace(name, numbers_.size());
    if (fresh) names_.push_back(short_text(name, kLongestFunctionName));
    return known->second;
  }
  Json take() { return std::move(names_); }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json names_ = Json::array();
};

Json tree_json(const query::CallTree& tree) {
  Json out = Json::object();
  for (const char* column :
       {"function", "parent", "samples", "weight", "self_samples", "self_weight", "merged"})
    out[column] = Json::array();
  for (const query::CallTreeNode& node : tree) {
    const bool is_root = node.function == query::CallTreeNode::kRoot;
    const bool is_rest = node.function == query::CallTreeNode::kRest;
    out["function"].push_back(is_root ? -1 : is_rest ? -2 : static_cast<std::int64_t>(node.function));
    out["parent"].push_back(node.parent);
    out["samples"].push_back(plain_number(node.total.samples));
    out["weight"].push_back(plain_number(node.total.weight));
    out["self_samples"].push_back(plain_number(node.self.samples));
    out["self_weight"].push_back(plain_number(node.self.weight));
    out["merged"].push_back(node.merged);
  }
  return out;
}

Json owners_of_function(const query::CalledFunction& function) {
  Json out = Json::array();
  for (const query::FunctionOfOwner& each : function.owners) {
    out.push_back(Json::array({each.owner, plain_number(each.self.samples), plain_number(each.self.weight),
                               plain_number(each.total.samples), plain_number(each.total.weight)}));
  }
  return out;
}

Json function_columns(const query::CallTrees& trees, ObjectNumbers& objects) {
  Json out = Json::object();
  for (const char* column : {"name", "named", "object", "kind", "address", "why", "self_samples",
                             "self_weight", "total_samples", "total_weight", "owners"})
    out[column] = Json::array();
  std::map<std::pair<std::string, std::string>, int> namesakes;
  for (const query::CalledFunction& each : trees.functions)
    ++namesakes[{each.function.name, each.function.object}];
  for (const query::CalledFunction& each : trees.functions) {
    const query::Function& function = each.function;
    const bool alone = namesakes[{function.name, function.object}] < 2 || function.begin == 0;
    out["name"].push_back(short_text(query::shown_name(function), kLongestFunctionName));
    out["named"].push_back(!function.name.empty());
    out["object"].push_back(objects.number(function.object));
    out["kind"].push_back(query::function_kind_key(function.kind));
    out["address"].push_back(alone ? "" : fmt::format("{:#x}", function.begin));
    out["why"].push_back(short_text(function.why, kLongestFunctionName));
    out["self_samples"].push_back(plain_number(each.self.samples));
    out["self_weight"].push_back(plain_number(each.self.weight));
    out["total_samples"].push_back(plain_number(each.total.samples));
    out["total_weight"].push_back(plain_number(each.total.weight));
    out["owners"].push_back(owners_of_function(each));
  }
  return out;
}

Json call_trees_json(const View& view, const query::CallTrees& trees) {
  const double worth = query::sample_worth(view.profile, view.selection, trees.source.index);
  Json out = {{"view", view_json(view, trees.source, trees.total.samples, trees.total.weight)},
              {"effective_samples", trees.effective_samples * worth},
              {"with_chain", call_cost_json(trees.with_chain)},
              {"left_out", call_cost_json(trees.left_out)}};
  ObjectNumbers objects;
  Json functions = function_columns(trees, objects);
  Json libraries = {{"object", Json::array()}, {"samples", Json::array()}, {"weight", Json::array()}};
  for (const query::LibraryCost& each : trees.libraries) {
    libraries["object"].push_back(objects.number(each.name));
    libraries["samples"].push_back(plain_number(each.self.samples));
    libraries["weight"].push_back(plain_number(each.self.weight));
  }
  out["objects"] = objects.take();
  out["owners"] = Json::array();
  for (const query::Owner& owner : trees.owners)
    out["owners"].push_back({{"key", owner.key}, {"name", short_text(owner.name, kLongestFunctionName)}});
  out["functions"] = std::move(functions);
  out["more_functions"] = left_out_json(trees.more_functions, trees.rest);
  out["libraries"] = std::move(libraries);
  out["more_libraries"] = left_out_json(trees.more_libraries, trees.rest_of_libraries);
  out["callees"] = tree_json(trees.callees);
  out["callers"] = tree_json(trees.callers);
  add_accounts(view, out);
  return out;
}

// Only what the chosen operator and pipeline have of each sample.
void take_parts(const View& view, query::CallTreeOptions& options) {
  options.keep = view.keep;  // of the plan's cells alone, where a pipeline or an operator is chosen
  if (view.pipeline)
    options.in_pipeline = [wanted = *view.pipeline](std::uint32_t pipeline) { return pipeline == wanted; };
  if (!view.op) return;
  const std::string end = fmt::format(":{}", *view.op);
  const std::string begin = "operator:" + view.plan;
  options.is_wanted = [begin, end, exact = !view.plan.empty()](const query::Owner& owner) {
    return exact ? owner.key == begin + end : owner.key.starts_with(begin) && owner.key.ends_with(end);
  };
}

}  // namespace

Result<Json> functions_json(const View& view, const query::NamedFunctions& names,
                            const FunctionsRequest& request) {
  if (!view.selection.source && !query::default_source(*view.whole, view.selection))
    return query::no_sample(*view.whole, view.selection);
  query::CallTreeOptions options;
  take_parts(view, options);
  for (std::size_t nodes = request.nodes;; nodes /= 2) {
    options.nodes = nodes;
    options.functions = std::min<std::size_t>(options.functions, std::max(kFewestTreeNodes, nodes / 2));
    auto trees = query::call_trees(*view.whole, names, view.selection, options);
    if (!trees) return trees.error();
    Json out = call_trees_json(view, *trees);
    if (nodes <= kFewestTreeNodes) return out;
    if (out.dump(-1, ' ', false, Json::error_handler_t::replace).size() <= kMostFunctionBytes) return out;
  }
}

std::shared_ptr<const query::NamedFunctions> KnownNames::of(
    const std::shared_ptr<const query::Profile>& profile) {
  std::lock_guard lock(mutex_);
  if (names_ == nullptr || profile_.lock() != profile) {
    names_ = std::make_shared<const query::NamedFunctions>(*profile, std::vector<std::string>(), from_);
    profile_ = profile;
  }
  return names_;
}

}  // namespace tailor::serve
