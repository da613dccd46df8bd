#include "daemon/serve/sums_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/query/sums/terms.h"
#include "daemon/serve/json_time.h"

namespace tailor::serve {
namespace {

using query::Json;
using store::CostOf;

// A row, and an event, whatever the hour and the query.
using RowKey = std::tuple<CostOf, std::uint32_t, std::string, std::string>;
using EventKey = std::pair<std::string, profile::Unit>;

struct Sums {
  std::map<std::pair<EventKey, RowKey>, store::CostSum> rows;
  std::map<EventKey, store::CostSum> events;
  store::RunSum runs;
  store::HourLoss losses;

  void take(const store::CostKey& key, const store::CostSum& sum) {
    const EventKey event{key.source, key.unit};
    rows[{event, {key.what, key.id, key.name, key.kind}}].add(sum);
    events[event].add(sum);
  }
};

std::string_view what_key(CostOf what) {
  constexpr std::string_view kKeys[] = {"operator", "component", "unattributed"};
  return kKeys[static_cast<std::size_t>(what)];
}

// Null where some of it was summed up by an older program, which did not count it.
Json detail_json(const store::CostSum& sum, store::Wide detail) {
  return sum.detailed() ? Json(store::to_number(detail)) : Json();
}

Json event_json(const EventKey& event, const store::CostSum& sum) {
  return {{"source", event.first},
          {"unit", query::term(event.second).key},
          {"samples", store::to_number(sum.samples)},
          {"weight", store::to_number(sum.weight)},
          {"weight_squares", detail_json(sum, sum.squares)},
          {"kernel", detail_json(sum, sum.kernel)},
          {"inferred", detail_json(sum, sum.inferred)}};
}

Json rows_json(const Sums& sums, std::size_t limit) {
  using Row = std::pair<const std::pair<EventKey, RowKey>, store::CostSum>;
  std::vector<const Row*> rows;
  for (const Row& row : sums.rows) rows.push_back(&row);
  // By event: units do not compare.
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return a->first.first != b->first.first ? a->first.first < b->first.first
                                            : a->second.weight > b->second.weight;
  });
  Json out = Json::array();
  for (std::size_t i = 0; i < rows.size() && i < limit; ++i) {
    const auto& [event, row] = rows[i]->first;
    const auto& [what, id, name, kind] = row;
    Json item = {{"what", what_key(what)}, {"id", id}, {"name", name}, {"kind", kind}};
    item.update(event_json(event, rows[i]->second));
    out.push_back(std::move(item));
  }
  return out;
}

Json sums_json(const Sums& sums, std::size_t limit, bool with_losses) {
  Json events = Json::array();
  for (const auto& [event, sum] : sums.events) events.push_back(event_json(event, sum));
  Json out = {{"executions", sums.runs.executions},
              {"drawn", sums.runs.sampled()},
              {"failed", sums.runs.failed},
              {"result_rows", {{"executions", sums.runs.rows_known}, {"rows", sums.runs.rows}}},
              {"elapsed_ns", elapsed_json(sums.runs)},
              {"events", std::move(events)},
              {"rows", rows_json(sums, limit)}};
  if (with_losses) {
    out["losses"] = {{"lost_ring", sums.losses.lost_ring},
                     {"lost_hardware", sums.losses.lost_hardware},
                     {"late", sums.losses.late},
                     {"unwritten", sums.losses.unwritten}};
  }
  return out;
}

store::Hour hours_in(HistoryRequest::Period period) {
  return period == HistoryRequest::Period::kHour ? 1 : store::kDayHours;
}

class History {
 public:
  History(const HistoryRequest& request, const Access& access) : request_(request), access_(access) {}

  void take(const store::Summary& summary) {
    days_until_ = std::max(days_until_, summary.days_until);
    for (const auto& [key, sum] : summary.costs) {
      if (!concerns(key.uid, key.fingerprint)) continue;
      total_.take(key, sum);
      periods_[begin_of(key.hour)].take(key, sum);
      if (request_.fingerprint.empty()) queries_[key.fingerprint].take(key, sum);
    }
    for (const auto& [key, sum] : summary.runs) {
      if (!concerns(key.uid, key.fingerprint)) continue;
      store::add(total_.runs, sum);
      store::add(periods_[begin_of(key.hour)].runs, sum);
      if (request_.fingerprint.empty()) store::add(queries_[key.fingerprint].runs, sum);
    }
    // Of the whole host; but no period is there for them alone.
    for (const auto& [hour, loss] : summary.losses) {
      store::add(total_.losses, loss);
      const auto at = periods_.find(begin_of(hour));
      if (at != periods_.end()) store::add(at->second.losses, loss);
    }
  }

  bool empty() const { return periods_.empty(); }

  Json json(const store::Summary& summary) const {
    Json out = {{"by", request_.by == HistoryRequest::Period::kHour ? "hour" : "day"}};
    if (!request_.fingerprint.empty()) {
      out["fingerprint"] = request_.fingerprint;
      name(summary, request_.fingerprint, out);
    }
    out.update(sums_json(total_, request_.limit, access_.see_all));
    out["periods"] = Json::array();
    for (const auto& [begin, sums] : periods_) {
      const auto begin_ns = static_cast<std::uint64_t>(begin) * store::kHourNs;
      const auto hours = static_cast<std::uint64_t>(hours_of(begin));
      Json item = {{"begin_ms", to_ms(begin_ns)}, {"end_ms", to_ms(begin_ns + hours * store::kHourNs)}};
      // Of all queries the rows would be many, and of no use.
      item.update(sums_json(sums, request_.fingerprint.empty() ? 0 : request_.limit, access_.see_all));
      out["periods"].push_back(std::move(item));
    }
    if (request_.fingerprint.empty()) out["queries"] = queries_json(summary);
    return out;
  }

 private:
  bool concerns(const std::optional<std::uint32_t>& uid, const std::string& fingerprint) const {
    return sees_sums_of(access_, uid) &&
           (request_.fingerprint.empty() || fingerprint == request_.fingerprint);
  }
  store::Hour begin_of(store::Hour hour) const { return hour - hour % hours_in(request_.by); }
  // Of the period that begins then: of old ones only days are known.
  store::Hour hours_of(store::Hour begin) const {
    return begin < days_until_ ? store::kDayHours : hours_in(request_.by);
  }

  void name(const store::Summary& summary, const std::string& fingerprint, Json& out) const {
    out["name"] = "";
    out["text"] = "";
    for (const auto& [key, names] : summary.queries) {
      if (key.fingerprint != fingerprint || !sees_sums_of(access_, key.uid)) continue;
      out["name"] = names.name;
      out["text"] = names.text;
      return;
    }
  }

  Json queries_json(const store::Summary& summary) const {
    std::vector<std::pair<double, const std::string*>> order;
    for (const auto& [fingerprint, sums] : queries_) {
      double weight = 0;
      for (const auto& [event, sum] : sums.events) {
        if (event.second == profile::Unit::kNsOnCpu) weight += store::to_number(sum.weight);
      }
      order.emplace_back(-weight, &fingerprint);
    }
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : *a.second < *b.second;
    });
    Json out = Json::array();
    for (std::size_t i = 0; i < order.size() && i < request_.limit; ++i) {
      Json item = {{"fingerprint", *order[i].second}};
      name(summary, *order[i].second, item);
      item.update(sums_json(queries_.at(*order[i].second), 0, false));
      item.erase("rows");
      out.push_back(std::move(item));
    }
    return out;
  }

  const HistoryRequest& request_;
  const Access& access_;
  Sums total_;
  store::Hour days_until_ = 0;
  std::map<store::Hour, Sums> periods_;  // by their first hour
  std::map<std::string, Sums> queries_;  // without a fingerprint asked for
};

}  // namespace

Json elapsed_json(const store::RunSum& runs) {
  const auto count = static_cast<double>(runs.timed());
  const bool some = runs.timed() > 0;
  Json out = {{"min", some ? runs.elapsed_min : 0},
              {"mean", some ? static_cast<double>(runs.elapsed_sum) / count : 0},
              {"max", runs.elapsed_max}};
  if (runs.untimed > 0) out["unknown"] = runs.untimed;
  const bool known = some && runs.elapsed.count() == runs.timed();
  for (const auto& [key, part] : {std::pair{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}}) {
    // A bucket's middle may lie outside of what there was.
    out[key] = known ? Json(std::max(static_cast<double>(runs.elapsed_min),
                                     std::min(static_cast<double>(runs.elapsed_max),
                                              runs.elapsed.quantile(part).value_or(0))))
                     : Json();
  }
  return out;
}

Json gone_json(const GoneList& gone) {
  Json out = Json::array();
  for (const GoneRow& row : gone.rows) {
    const std::uint64_t begin = static_cast<std::uint64_t>(row.hour) * store::kHourNs;
    const std::uint64_t length = static_cast<std::uint64_t>(row.hours) * store::kHourNs;
    out.push_back({{"begin_ms", to_ms(begin)},
                   {"end_ms", to_ms(begin + length)},
                   {"fingerprint", row.fingerprint},
                   {"name", row.names.name},
                   {"text", row.names.text},
                   {"executions", row.runs.executions},
                   {"failed", row.runs.failed},
                   {"drawn", row.runs.sampled()},
                   {"elapsed_ns", elapsed_json(row.runs)},
                   {"cpu_ns", store::to_number(row.cpu.weight)},
                   {"samples", store::to_number(row.cpu.samples)}});
  }
  return out;
}

Result<Json> history_json(const store::Summary& sums, const HistoryRequest& request, const Access& access) {
  History history(request, access);
  history.take(sums);
  if (history.empty()) {
    return not_found(request.fingerprint.empty()
                         ? std::string("the store holds nothing of that time")
                         : fmt::format("the store holds nothing of the query \"{}\" in that time",
                                       request.fingerprint.substr(0, 64)));
  }
  return history.json(sums);
}

}  // namespace tailor::serve
