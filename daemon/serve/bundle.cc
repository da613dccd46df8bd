// One target's views in one object.
#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/error_json.h"
#include "daemon/serve/service.h"

namespace tailor::serve {
namespace {

// Executions of a file that have views of their own in its bundle: the most recent.
constexpr std::size_t kMostExecutions = 30;
// Of these, the number that is compared with each other.
constexpr std::size_t kMostCompared = 10;
// What further events and comparisons of single executions may add. The page offers what is in the file only.
constexpr std::size_t kMostFurtherBytes = std::size_t{24} << 20;

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

// Answers that are put into a bundle while there is room.
class Further {
 public:
  explicit Further(Json& responses) : responses_(responses) {}

  // All of them or none: a view without the others of its event would be half a page. False: there is no
  // room, for these and for whatever follows.
  bool put(const Json& answers) {
    const std::size_t bytes = answers.dump().size();
    full_ = full_ || bytes > kMostFurtherBytes - bytes_;
    if (full_) return false;
    bytes_ += bytes;
    responses_.update(answers);
    return true;
  }
  bool full() const { return full_; }

 private:
  Json& responses_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

class Bundler {
 public:
  // `code`: whether listings may be read, else why not.
  Bundler(Json& responses, const std::string& root, Status code, KnownNames& names)
      : responses_(responses), root_(root), code_(std::move(code)), names_(names) {}

  void put(const std::string& name, const Result<Json>& answer) {
    responses_[root_ + name] = answer.ok() ? *answer : error_json(answer.error());
  }

  // A smaller picture of the functions of what is one among many.
  void take_fewer_nodes() { nodes_ = kFewNodes; }

  // All views of samples, of the source that is shown by default or of another one.
  void put_views(const View& view, const std::string& source) {
    const std::string more = source.empty() ? "" : "source=" + escaped(source);
    const std::string only = more.empty() ? "" : "?" + more;
    const std::string and_more = more.empty() ? "" : "&" + more;
    put("/profile" + only, profile_json(view));
    put("/flame" + only, flame_json(view, query::default_flame_order()));
    put("/functions" + only, functions_json(view, *names_.of(view.whole), {nodes_}));
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
      std::string path = "/listing?plan=";
      path.append(key).append(and_more);
      put(path, listing_json(view, key));
    }
  }

  static constexpr std::size_t kFewNodes = 300;
  Json& responses_;
  std::string root_;
  Status code_;
  KnownNames& names_;
  std::size_t nodes_ = FunctionsRequest{}.nodes;
};

// All of a view, of the event that is shown by default.
void put_first(const View& view, Bundler out) {
  out.put_views(view, "");
  out.put("/sources", sources_json(view));
  out.put("/iterations", iterations_json(view, query::IterationsFrom::kBest));
  constexpr std::size_t kMostSamples = 200'000;
  out.put("/samples", samples_in(view) > kMostSamples ? slices_json(view, kMostSamples)
                                                      : samples_json(view, kMostSamples));
}

// The views of its other events. `put` says whether it took those of one.
Status put_other_sources(const View& view, const std::function<Bundler(Json&)>& bundler, const Stop& stop,
                         const std::function<bool(const Json&)>& put) {
  const auto shown = query::default_source(view.profile, view.selection);
  for (const auto& [index, total] : query::totals_by_source(view.profile, view.selection)) {
    if (stop.stopped()) return stop.error();
    if (shown && index == *shown) continue;
    Filters filters;
    filters.source = view.whole->source(index).name;
    auto other = make_view({view.whole, view.selection}, filters);
    if (!other) continue;
    Json answers = Json::object();
    bundler(answers).put_views(*other, filters.source);
    if (!put(answers)) break;
  }
  return Ok{};
}

// Of the last view with each before it, both ways round.
Status put_comparisons(const std::vector<View>& views, const Stop& stop, Further& further) {
  const View& last = views.back();
  for (std::size_t i = 0; i + 1 < views.size() && !further.full(); ++i) {
    if (stop.stopped()) return stop.error();
    Json answers = Json::object();
    for (const auto& [a, b] : {std::pair{&views[i], &last}, std::pair{&last, &views[i]}}) {
      // Of events with different units there is none.
      auto compared = compare_json(*a, *b);
      if (compared.ok()) answers["compare?a=" + a->id + "&b=" + b->id] = std::move(*compared);
    }
    further.put(answers);
  }
  return Ok{};
}

}  // namespace

Result<Json> Service::bundle(const Target& target, const Access& access, const Stop& stop) {
  const Detail everything =
      Detail::kSamples.with(Detail::kCode).with(Detail::kSlices).with(Detail::kFunctions);
  auto whole = open(target, {}, everything, access, stop);
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
  Further further(responses);
  auto put_all = [&](const Target& one, const std::string& name, bool always) -> Status {
    auto view = open(one, {}, everything, access, stop);
    if (!view) return view.error();
    const auto bundler = [&](Json& into) {
      Bundler out(into, "executions/" + name, may_read_code(*view, access), names_);
      if (!always) out.take_fewer_nodes();
      return out;
    };
    put_first(*view, bundler(responses));
    return put_other_sources(*view, bundler, stop, [&](const Json& answers) {
      if (always) responses.update(answers);
      return always || further.put(answers);
    });
  };
  if (Status done = put_all(target, id, true); !done.ok()) return done.error();
  // The executions of a file, each for itself.
  if (id == "all") {
    std::vector<View> sampled;
    for (std::size_t i = 0; i < rows.size() && i < kMostExecutions; ++i) {
      if (stop.stopped()) return stop.error();
      const std::string own = query::hex(rows[i].record.id);
      responses["executions/" + own] = execution_json(rows[i], nullptr);
      if (rows[i].cost.samples == 0) continue;
      if (Status done = put_all(prefix_target(own), own, false); !done.ok()) return done.error();
      if (sampled.size() >= kMostCompared) continue;
      auto view = open(prefix_target(own), {}, Detail::kSums, access, stop);
      if (!view) return view.error();
      sampled.push_back(std::move(*view));
      if (Status done = put_comparisons(sampled, stop, further); !done.ok()) return done.error();
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
