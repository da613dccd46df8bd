// One target's views in one object.
#include <fmt/format.h>

#include "daemon/query/keys.h"
#include "daemon/serve/error_json.h"
#include "daemon/serve/service.h"

namespace tailor::serve {
namespace {

// Executions of a file that have views of their own in its bundle: the most recent.
constexpr std::size_t kMostExecutions = 30;

// A name in a URL's parameter.
std::string escaped(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

class Bundler {
 public:
  // `code`: whether listings may be read, else why not.
  Bundler(Json& responses, const std::string& root, Status code)
      : responses_(responses), root_(root), code_(std::move(code)) {}

  void put(const std::string& name, const Result<Json>& answer) {
    responses_[root_ + name] = answer.ok() ? *answer : error_json(answer.error());
  }

  // All views of samples, of the source that is shown by default or of another one.
  void put_views(const View& view, const std::string& source) {
    const std::string more = source.empty() ? "" : "source=" + escaped(source);
    const std::string only = more.empty() ? "" : "?" + more;
    const std::string and_more = more.empty() ? "" : "&" + more;
    put("/profile" + only, profile_json(view));
    put("/flame" + only, flame_json(view, query::default_flame_order()));
    put("/timeline" + only, timeline_json(view, {}));
    put("/timeline?lanes=thread" + and_more, timeline_json(view, {200, query::Lanes::kThread, {}}));
    put("/threads" + only, threads_json(view));
    put("/memory" + only, memory_json(view, 20'000));
    put_listings(view, only, and_more);
  }

 private:
  void put_listings(const View& view, const std::string& only, const std::string& and_more) {
    if (!code_.ok()) return put("/listing" + only, code_.error());
    put("/listing" + only, listing_json(view, ""));
    auto profile = profile_json(view);
    if (!profile.ok()) return;
    for (const Json& plan : (*profile)["plans"]) {
      const std::string key = plan["plan_key"];
      put("/listing?plan=" + key + and_more, listing_json(view, key));
    }
  }

  Json& responses_;
  std::string root_;
  Status code_;
};

}  // namespace

Result<Json> Service::bundle(const Target& target, const Access& access, const Stop& stop) {
  auto whole = open(target, {}, Detail::kSamples, access, stop);
  if (!whole) return whole.error();
  const std::string id = whole->id.empty() ? "all" : whole->id;
  Json responses = Json::object();
  responses["status"] = status(access);
  std::vector<store::ExecutionRow> rows;
  for (store::ExecutionRow& row : rows_of(*whole->whole)) {
    if (query::selected(whole->selection, row.record.process, row.record.handle))
      rows.push_back(std::move(row));
  }
  responses["executions"] = executions_json(rows);
  auto put_all = [&](const Target& one, const std::string& name, bool listings) -> Status {
    auto view = open(one, {}, Detail::kSamples, access, stop);
    if (!view) return view.error();
    Bundler out(responses, "executions/" + name, may_read_code(*view, access));
    out.put_views(*view, "");
    out.put("/sources", sources_json(*view));
    out.put("/iterations", iterations_json(*view, query::IterationsFrom::kBest));
    out.put("/samples", samples_json(*view, 200'000));
    if (!listings) return Ok{};
    const auto totals = query::totals_by_source(view->profile, view->selection);
    const auto shown = query::default_source(view->profile, view->selection);
    for (const auto& [index, total] : totals) {
      if (stop.stopped()) return stop.error();
      if (shown && index == *shown) continue;
      Filters filters;
      filters.source = view->whole->source(index).name;
      if (auto other = make_view({view->whole, view->selection}, filters); other.ok())
        out.put_views(*other, filters.source);
    }
    return Ok{};
  };
  if (Status done = put_all(target, id, true); !done.ok()) return done.error();
  // The executions of a file, each for itself.
  if (id == "all") {
    for (std::size_t i = 0; i < rows.size() && i < kMostExecutions; ++i) {
      if (stop.stopped()) return stop.error();
      const std::string own = query::hex(rows[i].record.id);
      responses["executions/" + own] = execution_json(rows[i], nullptr);
      if (rows[i].cost.samples == 0) continue;
      if (Status done = put_all(prefix_target(own), own, false); !done.ok()) return done.error();
    }
  } else if (!rows.empty()) {
    responses["executions/" + id] = execution_json(rows.front(), nullptr);
  }
  return Json{{"format", "tailor-bundle"},
              {"version", 1},
              {"generator", "tailor " + options_.version},
              {"id", id},
              {"responses", std::move(responses)}};
}

}  // namespace tailor::serve
