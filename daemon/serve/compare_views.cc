// Two executions, queries or times of a query beside each other: samples where both sides have them, else
// sums.
#include <cstdint>
#include <string>
#include <utility>

#include "daemon/profile/cell.h"
#include "daemon/query/load/damage.h"
#include "daemon/serve/compare_sums.h"
#include "daemon/serve/main_plan.h"
#include "daemon/serve/service.h"
#include "proto/base/errors.h"

namespace tailor::serve {
namespace {

bool is_query(const Target& target) {
  return target.what == Target::What::kFiltered;
}

constexpr const char* kSomeGone = "samples of other executions of it are deleted, and are left out";

// A side, and what was left out of it.
struct OpenedSide {
  View view;
  Json runs;  // null: it is one execution
};

Json opened_runs_json(const View& view, const OtherPlans& others) {
  const ViewedRuns runs = view.runs.value_or(ViewedRuns{});
  return {{"executions", runs.executions},       {"sampled", runs.sampled},
          {"left_out", runs.left_out},           {"other_plans", others.left_out},
          {"runs_unknown", others.runs_unknown}, {"notes", view.notes}};
}

// One side of a comparison of sums.
struct SummedPart {
  store::Summary sums;
  std::string fingerprint;
  Json file;
  std::uint64_t unwritten = 0;  // samples of that time that are in no sum
};

Result<SummedPart> summed_part(Service& service, const ExecutionFilter& filter, const Access& access,
                               const Stop& stop) {
  store::WallRange range;
  if (filter.since_ns) range.since_ns = *filter.since_ns;
  if (filter.until_ns) range.until_ns = *filter.until_ns;
  query::StoreDamage damage;
  auto sums = service.sums(range, access, stop, damage);
  if (!sums) return sums.error();
  SummedPart part;
  part.sums = std::move(*sums);
  part.fingerprint = filter.fingerprint;
  part.file = query::damage_json(damage.read, query::damage_text(damage.read, damage.loss));
  for (const auto& [hour, loss] : part.sums.losses) profile::add_bounded(part.unwritten, loss.unwritten);
  return part;
}

Result<Json> compare_parts(Service& service, const CompareRequest& request, const Access& access,
                           const Stop& stop) {
  const auto a = summed_part(service, request.a.filter, access, stop);
  if (!a) return in_context("a: ", a.error());
  const auto b = summed_part(service, request.b.filter, access, stop);
  if (!b) return in_context("b: ", b.error());
  const auto both = compare_sums({a->sums, a->fingerprint}, {b->sums, b->fingerprint}, request.source);
  if (!both) return both.error();
  Json out = sums_comparison_json(*both);
  out["file"] = {{"a", a->file}, {"b", b->file}};
  // Of the whole host.
  if (access.see_all) out["unwritten"] = {{"a", a->unwritten}, {"b", b->unwritten}};
  return out;
}

}  // namespace

Result<Json> Service::compare(const CompareRequest& request, const Access& access, const Stop& stop) {
  if (is_query(request.a) && is_query(request.b) &&
      (has_gone(request.a.filter, access, stop) || has_gone(request.b.filter, access, stop)))
    return compare_parts(*this, request, access, stop);
  Filters filters;
  filters.source = request.source;
  const auto open_side = [&](const Target& target) -> Result<OpenedSide> {
    auto view = is_query(target) ? open_runs(target, filters, Detail::kSums, access, stop)
                                 : open(target, filters, Detail::kSums, access, stop);
    if (!view) return view.error();
    if (!is_query(target)) return OpenedSide{std::move(*view), Json()};
    OtherPlans others;
    if (view->selection.executions.size() > 1) {
      const auto found = only_main_plan(*view);
      if (!found) return found.error();
      others = *found;
    }
    // Of two queries, sums are compared then.
    const bool beside_one = is_query(request.a) != is_query(request.b);
    if (beside_one && has_gone(target.filter, access, stop)) view->notes.emplace_back(kSomeGone);
    Json runs = opened_runs_json(*view, others);
    return OpenedSide{std::move(*view), std::move(runs)};
  };
  auto a = open_side(request.a);
  if (!a) return in_context("a: ", a.error());
  auto b = open_side(request.b);
  if (!b) return in_context("b: ", b.error());
  auto out = compare_json(a->view, b->view);
  if (out) (*out)["runs"] = {{"a", std::move(a->runs)}, {"b", std::move(b->runs)}};
  return out;
}

}  // namespace tailor::serve
