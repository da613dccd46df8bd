#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/profile/cell.h"
#include "daemon/query/load/damage.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/compare_sums.h"
#include "daemon/serve/main_plan.h"
#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "proto/base/errors.h"
#include "viewer/cli/command.h"
#include "viewer/cli/diff_side.h"
#include "viewer/cli/regression_gate.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  ViewChoice view;  // what both sides share
  std::vector<std::string> fail_if;
};

Result<serve::View> open_side(const DiffOptions& options, const std::string& text) {
  auto side = parse_diff_side(text);
  if (!side) return side.error();
  ViewChoice choice = options.view;
  choice.choice.what = side->what;
  choice.choice.execution = side->execution;
  choice.choice.filter.fingerprint = side->fingerprint;
  choice.choice.filter.since = side->since;
  choice.choice.filter.until = side->until;
  auto view = open_view(choice, Needs::kSums);
  if (!view) return in_context(text + ": ", view.error());
  if (view->selection.executions.size() == 1) return view;
  const bool were_chosen = !view->selection.executions.empty();
  const auto others = serve::only_main_plan(*view);
  if (!others) return in_context(text + ": ", others.error());
  if (were_chosen && others->left_out > 0)
    warn(fmt::format("{}: {} of {} executions ran other plans and are left out", text, others->left_out,
                     others->all));
  if (others->runs_unknown > 0)
    warn(fmt::format(
        "{}: {} of {} executions are left out: runs were added up in them, and it is not known how many",
        text, others->runs_unknown, others->all));
  return view;
}

// What samples or sums of both sides say.
struct Compared {
  query::Comparison both;
  query::Json json;  // where it is asked for
};

// A side that is named by its fingerprint in the store; nothing for others, and where the text is wrong.
std::optional<serve::ExecutionFilter> store_side(const std::string& text, std::uint64_t now_ns) {
  const auto side = parse_diff_side(text);
  if (!side || !side->what.empty() || side->fingerprint.empty()) return std::nullopt;
  FilterOptions options;
  options.fingerprint = side->fingerprint;
  options.since = side->since;
  options.until = side->until;
  auto filter = execution_filter(options, now_ns);
  if (!filter) return std::nullopt;
  return std::move(*filter);
}

Result<store::Summary> sums_of_side(serve::Service& service, const serve::ExecutionFilter& filter,
                                    const std::string& text, bool judged) {
  query::StoreDamage damage;
  auto sums = service.sums(range_of(filter), serve::Access::everything(), Stop(), damage);
  if (!sums) return in_context(text + ": ", sums.error());
  if (judged && query::is_damaged(damage.read, damage.loss))
    return internal(fmt::format("{}: no condition of --fail-if can be judged on damaged samples. {}", text,
                                query::damage_text(damage.read, damage.loss)));
  std::uint64_t unwritten = 0;
  for (const auto& [hour, loss] : sums->losses) profile::add_bounded(unwritten, loss.unwritten);
  // What is missing looks like a change, and what grew may be missing.
  if (judged && unwritten > 0)
    return internal(fmt::format(
        "{}: no condition of --fail-if can be judged: {} samples of that time are missing", text, unwritten));
  if (unwritten > 0)
    warn(fmt::format("{}: {} samples of that time are missing in its sums", text, unwritten));
  return sums;
}

// Two queries or times of the store, where samples of one of them are gone: sums know both sides. Nothing
// where samples know both.
Result<std::optional<Compared>> compare_history(const DiffOptions& options) {
  const std::uint64_t now_ns = query::wall_clock_ns();
  const auto a = store_side(options.a, now_ns), b = store_side(options.b, now_ns);
  if (!a && !b) return std::optional<Compared>();
  const auto library = open_library(options.view.choice);
  serve::Service service(*library, {});
  const serve::Access all = serve::Access::everything();
  const bool some_of_a = a && service.has_gone(*a, all, Stop());
  const bool some_of_b = b && service.has_gone(*b, all, Stop());
  if (!some_of_a && !some_of_b) return std::optional<Compared>();
  if (!a || !b) {
    warn(fmt::format("{}: samples of other executions of it are deleted, and are left out",
                     some_of_a ? options.a : options.b));
    return std::optional<Compared>();
  }
  const bool judged = !options.fail_if.empty();
  const auto of_a = sums_of_side(service, *a, options.a, judged);
  if (!of_a) return of_a.error();
  const bool same_time = a->since_ns == b->since_ns && a->until_ns == b->until_ns;
  const auto of_b = same_time ? of_a : sums_of_side(service, *b, options.b, judged);
  if (!of_b) return of_b.error();
  auto both =
      serve::compare_sums({*of_a, a->fingerprint}, {*of_b, b->fingerprint}, options.view.choice.source);
  if (!both) return both.error();
  warn(
      "some samples of that time are deleted: compared are sums of whole hours (UTC), or of whole days where "
      "they are old, with all plans of each query");
  query::Json json = options.view.choice.json ? serve::sums_comparison_json(*both) : query::Json();
  return std::optional(Compared{std::move(*both), std::move(json)});
}

Result<Compared> compare_samples(const DiffOptions& options) {
  auto a = open_side(options, options.a);
  if (!a) return a.error();
  auto b = open_side(options, options.b);
  if (!b) return b.error();
  for (const auto& [name, side] : {std::pair{&options.a, &*a}, std::pair{&options.b, &*b}}) {
    // What is missing looks like a change, and what grew may be missing.
    if (!options.fail_if.empty() && query::is_damaged(*side->whole))
      return internal(fmt::format("{}: no condition of --fail-if can be judged on a damaged profile. {}",
                                  *name, query::damage_text(*side->whole)));
  }
  auto both = serve::comparison(*a, *b);
  if (!both) return both.error();
  if (!options.view.choice.json) return Compared{std::move(*both), {}};
  auto json = serve::compare_json(*a, *b);
  if (!json) return json.error();
  return Compared{std::move(*both), std::move(*json)};
}

Result<Compared> compare_sides(const DiffOptions& options) {
  auto history = compare_history(options);
  if (!history) return history.error();
  if (*history) return std::move(**history);
  return compare_samples(options);
}

using Reasons = std::vector<std::pair<std::string, std::string>>;  // condition and why

query::Json json_of(const Reasons& reasons) {
  query::Json out = query::Json::array();
  for (const auto& [condition, why] : reasons) out.push_back({{"condition", condition}, {"why", why}});
  return out;
}

int run_diff(const DiffOptions& options) {
  std::vector<Condition> conditions;
  for (const std::string& text : options.fail_if) {
    auto condition = parse_condition(text);
    if (!condition) return complain(condition.error());
    conditions.push_back(std::move(*condition));
  }
  auto compared = compare_sides(options);
  if (!compared) return complain(compared.error());
  const query::Comparison& both = compared->both;
  Reasons held, unknown;
  for (const Condition& condition : conditions) {
    const Verdict verdict =
        judge(condition, both, query::parts_of(both.executions_a), query::parts_of(both.executions_b));
    if (!verdict.holds.empty()) held.emplace_back(condition.text, verdict.holds);
    if (!verdict.unknown.empty()) unknown.emplace_back(condition.text, verdict.unknown);
  }
  if (options.view.choice.json) {
    compared->json["fail_if"] = json_of(held);
    compared->json["fail_if_unknown"] = json_of(unknown);
    print_json(query::dump(compared->json));
  } else {
    const Terminal terminal = options.view.choice.terminal();
    print_text(render(both, options.a, options.b, terminal), terminal);
  }
  std::fflush(stdout);
  for (const auto& [condition, why] : held) warn(fmt::format("--fail-if {}: {}", condition, why));
  for (const auto& [condition, why] : unknown)
    warn(
        fmt::format("--fail-if {}: cannot be judged: {}. Record longer, or more executions", condition, why));
  if (!held.empty()) return kConditionHolds;
  return unknown.empty() ? kOk : kConditionUnknown;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("diff", "Two profiles, executions or queries, operator by operator");
  auto options = std::make_shared<DiffOptions>();
  command
      .add_option(
          "A", options->a,
          "The first: a profile, FILE#EXECUTION, an execution in the daemon's store, or all runs of a query: "
          "fingerprint:DIGITS, fingerprint:DIGITS@SINCE..UNTIL, FILE#fingerprint:DIGITS")
      ->required();
  command.add_option("B", options->b, "The second")->required();
  ViewChoice& view = options->view;
  command.add_option("--source", view.choice.source, "The event source to compare, if several were recorded");
  command.add_option("--store", view.choice.store,
                     "The directory of the store (default: that of the daemon, TAILOR_STORE)");
  command.add_flag("--json", view.choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", view.choice.ascii, "No characters outside ASCII");
  command
      .add_option(
          "--fail-if", options->fail_if,
          "Exit with 4 if this holds: total>5% (the cost of an execution grew by more than 5 %, with 95 % "
          "confidence), operator>10% (the same for any operator), plan (the plans differ); with 5 if there "
          "are "
          "too few samples to judge it; may be repeated")
      ->type_name("CONDITION");
  command.callback([options, &action] { action = [options] { return run_diff(*options); }; });
}

}  // namespace tailor::cli
