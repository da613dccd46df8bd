#include "daemon/serve/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "daemon/query/reports/no_such.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/time/timeline.h"

namespace tailor::serve {
namespace {

Status select_source(const std::string& name, View& view) {
  if (name.empty()) return Ok{};
  std::vector<std::string> known;
  for (const profile::Source& source : view.whole->recording().sources) {
    if (source.name == name) {
      view.selection.source = source.index;
      return Ok{};
    }
    known.push_back(source.name);
  }
  return query::no_such("source", name, known);
}

Status select_process(std::int32_t pid, View& view) {
  // A pid may have been used twice: the last process of that number counts.
  TimeNs seen = kTimeMin;
  for (const auto& [process, record] : view.whole->processes()) {
    if (process.pid != pid || record.first_seen < seen) continue;
    view.selection.process = process;
    seen = record.first_seen;
  }
  if (!view.selection.process) return not_found(fmt::format("the profile knows no process {}", pid));
  return Ok{};
}

Status select_iteration(const Filters& filters, View& view) {
  auto loops = query::find_loops(view.profile, view.selection, filters.iterations_from);
  if (!loops) return loops.error();
  auto chosen = query::choose_loops(std::move(*loops), filters.loop);
  if (!chosen) return chosen.error();
  auto only = query::only_iteration(view.profile, *chosen, *filters.iteration);
  if (!only) return only.error();
  const std::uint64_t number = *filters.iteration;
  view.keep = [chosen = std::move(*chosen), number](const query::TimedSample& sample) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const query::Loop& loop) {
      const bool own =
          loop.execution == query::InProcess<ExecutionHandle>{sample.key->process, sample.key->execution};
      const query::Iteration* at = own ? loop.at(sample.tid, sample.time) : nullptr;
      return at != nullptr && at->number == number;
    });
  };
  view.profile = std::move(*only);
  return Ok{};
}

bool is_of_plan(const std::string& wanted, const query::CellKey& led) {
  return wanted.empty() || (led.plan != 0 && query::plan_key(led.process, led.plan) == wanted);
}

// The cells of which a pipeline or an operator has a part.
std::set<const query::CellKey*> cells_of(const View& view, const Filters& filters) {
  std::set<const query::CellKey*> cells;
  for (const auto& [source, total] : query::totals_by_source(*view.whole, view.selection)) {
    const query::OwnerTable owners(*view.whole, view.selection, source, query::OwnedBy::kOperator);
    for (const auto& [key, cell] : view.whole->cells()) {
      const auto* parts = owners.parts(&key);
      if (parts == nullptr) continue;
      const query::CellKey led = view.whole->for_leader(key);
      if (!is_of_plan(filters.plan, led)) continue;
      for (const query::OwnerPart& part : *parts) {
        const bool pipeline = !filters.pipeline || part.pipeline == *filters.pipeline;
        const bool op = !filters.op || owners.owners()[part.owner].key ==
                                           query::operator_key(led.process, led.plan, *filters.op);
        if (pipeline && op) cells.insert(&key);
      }
    }
  }
  return cells;
}

// Numbers with their names, of plans that have samples: what the user may have meant.
struct KnownParts {
  std::vector<std::string> operators, pipelines;
  bool has_plan = false, has_operator = false, has_pipeline = false;  // the latter two: of the filter
};

KnownParts known_parts(const View& view, const Filters& filters) {
  std::set<query::InProcess<PlanId>> plans;
  for (const auto& [key, cell] : view.whole->cells()) {
    const query::CellKey led = view.whole->for_leader(key);
    if (query::selected(view.selection, led.process, led.execution) && is_of_plan(filters.plan, led))
      plans.emplace(led.process, led.plan);
  }
  std::set<std::pair<std::uint32_t, std::string>> operators, pipelines;
  KnownParts known;
  for (const auto& [process, id] : plans) {
    const query::PlanModel* plan = view.whole->plan(process, id);
    if (plan == nullptr || plan->level_count() == 0) continue;
    known.has_plan = true;
    const std::uint32_t op = filters.op.value_or(0);
    known.has_operator = known.has_operator || (op > 0 && op <= plan->component_count(0));
    for (const auto& node : plan->tree()) operators.emplace(node.id, plan->component_name(0, node.id));
    for (const v1::Pipeline& each : plan->plan().pipelines()) {
      known.has_pipeline = known.has_pipeline || each.id() == filters.pipeline;
      pipelines.emplace(each.id(), each.name());
    }
  }
  for (const auto& [number, name] : operators) known.operators.push_back(fmt::format("{} {}", number, name));
  for (const auto& [number, name] : pipelines) known.pipelines.push_back(fmt::format("{} {}", number, name));
  return known;
}

// More names help nobody.
void shorten(std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 50;
  if (names.size() <= kMostNames) return;
  const std::size_t more = names.size() - kMostNames;
  names.resize(kMostNames);
  names.push_back(fmt::format("{} more", more));
}

// Nothing is kept of this operator or pipeline: fails where no plan has one of that number.
Status check_numbers(const View& view, const Filters& filters) {
  KnownParts known = known_parts(view, filters);
  if (!known.has_plan && !filters.plan.empty())
    return not_found(fmt::format("there is no sample of plan \"{}\" here", filters.plan));
  if (!known.has_plan) return Ok{};  // no sample is of any
  if (filters.op && !known.has_operator) {
    shorten(known.operators);
    return query::no_such("operator", std::to_string(*filters.op), known.operators);
  }
  if (filters.pipeline && !known.has_pipeline) {
    shorten(known.pipelines);
    return query::no_such("pipeline", std::to_string(*filters.pipeline), known.pipelines);
  }
  return Ok{};
}

std::string text_of(const Filters& filters) {
  std::string out;
  auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (filters.from_ns) add(fmt::format("from {} ns", *filters.from_ns));
  if (filters.to_ns) add(fmt::format("to {} ns", *filters.to_ns));
  if (filters.tid) add(fmt::format("thread {}", *filters.tid));
  if (filters.pipeline) add(fmt::format("pipeline {}", *filters.pipeline));
  if (filters.op) add(fmt::format("operator {}", *filters.op));
  if (!filters.plan.empty()) add(fmt::format("plan {}", filters.plan));
  if (filters.iteration) add(fmt::format("iteration {}", *filters.iteration));
  return out;
}

Status narrow(const Filters& filters, View& view) {
  if (filters.from_ns) view.from = time_since(view.origin, *filters.from_ns);
  if (filters.to_ns) view.to = time_since(view.origin, *filters.to_ns);
  if (view.from >= view.to) return invalid("the time ends before it begins");
  if (filters.iteration) {
    if (Status done = select_iteration(filters, view); !done.ok()) return done;
  }
  view.keep_of_any_time = view.keep;
  const bool by_cell = filters.pipeline || filters.op;
  if (!filters.from_ns && !filters.to_ns && !filters.tid && !by_cell) return Ok{};
  std::set<const query::CellKey*> cells;
  if (by_cell) cells = cells_of(view, filters);
  if (by_cell && cells.empty()) {
    if (Status known = check_numbers(view, filters); !known.ok()) return known;
  }
  if (filters.tid || by_cell) {
    view.keep_of_any_time = [inner = view.keep, tid = filters.tid, by_cell,
                             cells = std::move(cells)](const query::TimedSample& sample) {
      if ((tid && sample.tid != *tid) || (by_cell && !cells.contains(sample.key))) return false;
      return !inner || inner(sample);
    };
  }
  view.keep = [inner = view.keep_of_any_time, from = view.from,
               to = view.to](const query::TimedSample& sample) {
    if (sample.time < from || sample.time >= to) return false;
    return !inner || inner(sample);
  };
  view.profile = view.whole->only(view.keep, text_of(filters));
  return Ok{};
}

std::string id_of(const View& view) {
  if (view.selection.executions.empty()) return "all";
  if (view.selection.executions.size() > 1) return "";
  const auto& [process, handle] = *view.selection.executions.begin();
  const profile::ExecutionRecord* record = view.whole->execution(process, handle);
  return record == nullptr ? "" : query::hex(record->id);
}

}  // namespace

TimeNs origin_of(const query::Profile& profile, const query::Selection& selection) {
  if (selection.executions.empty()) return profile.recording().start;
  return query::time_span(profile, selection).first;
}

TimeNs time_since(TimeNs origin, TimeNs since) {
  TimeNs out = 0;
  if (__builtin_add_overflow(origin, since, &out)) return since > 0 ? kTimeMax : kTimeMin;
  return out;
}

Result<View> make_view(Loaded loaded, const Filters& filters) {
  View view{"", loaded.profile, *loaded.profile, std::move(loaded.selection), std::move(loaded.notes)};
  view.id = id_of(view);
  view.origin = origin_of(*view.whole, view.selection);
  if (Status done = select_source(filters.source, view); !done.ok()) return done.error();
  if (filters.pid) {
    if (Status done = select_process(*filters.pid, view); !done.ok()) return done.error();
  }
  view.pipeline = filters.pipeline;
  view.op = filters.op;
  view.plan = filters.plan;
  if (Status done = narrow(filters, view); !done.ok()) return done.error();
  return view;
}

Result<View> open_view(Library& library, const Target& target, const Filters& filters, Detail detail,
                       const Stop& stop, const Visible& visible) {
  if (filters.need_samples() && !detail.samples) detail = detail.with(Detail::kSamples);
  auto loaded = library.load(target, detail, stop, visible);
  if (!loaded) return loaded.error();
  if (stop.stopped()) return stop.error();
  return make_view(std::move(*loaded), filters);
}

}  // namespace tailor::serve
