#include "daemon/serve/http/live_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "daemon/query/time/wall_time.h"

namespace tailor::serve {
namespace {

constexpr std::chrono::milliseconds kPeriod{1000};
constexpr std::size_t kMostRows = 50;                       // told in a round
constexpr std::size_t kRowsOfPage = 1000, kMostPages = 10;  // looked at
// One that is over for longer than that changes no more, and one that began so long ago is known.
constexpr std::uint64_t kSettledAfterNs = 10'000'000'000;

std::string event(std::string_view name, const Json& data) {
  // JSON in one line: a line break would end the field.
  return fmt::format("event: {}\ndata: {}\n\n", name,
                     data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

std::string LiveEvents::next() {
  if (rounds_ > 0) std::this_thread::sleep_for(kPeriod);
  std::string out;
  if (rounds_ % 2 == 0) tell_status(out);
  tell_executions(out);
  ++rounds_;
  return out.empty() ? ": nothing new\n\n" : out;
}

void LiveEvents::tell_status(std::string& out) {
  const Stop stop(Stop::Clock::now() + kPeriod * 5);
  if (auto status = service_.answer(StatusRequest{}, access_, stop); status.ok())
    out += event("status", *status);
}

void LiveEvents::take(const Json& row, std::uint64_t now_ns, Look& look, std::string& out) {
  const std::string id = row["id"];
  const double cost = row["cpu_ns"];
  const auto before = known_.find(id);
  const bool is_new = before == known_.end();
  // What was used before the stream began is not told.
  const double more = is_new ? (rounds_ == 0 ? 0 : cost) : cost - before->second.cpu_ns;
  if (more > 0) look.cost["fingerprint:" + row["fingerprint"].get<std::string>()] += more;
  const std::uint64_t began = row["began_wall_ns"];
  const bool open = row["running"].get<bool>() ||
                    began + row.value("elapsed_ns", std::uint64_t{0}) + kSettledAfterNs > now_ns;
  if (open) look.open_since_ns = std::min(look.open_since_ns, began);
  Known& known = look.known[id];
  known = {is_new ? 0 : before->second.told, cost};
  const std::size_t text = std::hash<Json>()(row) | 1;
  if (text == known.told || look.told == kMostRows) return;
  known.told = text;
  ++look.told;
  out += event("execution", row);
}

// All executions that may have changed are looked at, so that none is missing in the cost; of those that
// have, the newest are told first, and the others in the next rounds.
void LiveEvents::tell_executions(std::string& out) {
  const Stop stop(Stop::Clock::now() + kPeriod * 5);
  const std::uint64_t now_ns = query::wall_clock_ns();
  ExecutionsRequest request;
  request.filter.limit = kRowsOfPage;
  if (since_ns_ != 0) request.filter.since_ns = since_ns_;
  Look look;
  look.open_since_ns = now_ns - kSettledAfterNs;
  for (std::size_t page = 0;; ++page) {
    const auto list = service_.answer(request, access_, stop);
    if (!list) return;
    for (const Json& row : (*list)["executions"]) take(row, now_ns, look, out);
    if (!list->contains("next")) break;
    if (page + 1 == kMostPages) {
      // Those before are not known, and would be new later.
      look.open_since_ns = list->at("executions").back().at("began_wall_ns").get<std::uint64_t>() + 1;
      complete_ = false;
      break;
    }
    request.filter.after = (*list)["next"];
  }
  known_ = std::move(look.known);
  since_ns_ = look.open_since_ns;
  std::map<std::string, double> kinds = service_.kinds(access_), more_of_kinds;
  for (const auto& [key, ns] : kinds) {
    const auto before = kinds_.find(key);
    const double more = ns - (before == kinds_.end() ? 0 : before->second);
    if (more > 0) more_of_kinds[key] = more;
  }
  kinds_ = std::move(kinds);
  const double ms = static_cast<double>(now_ns) / 1e6;
  if (rounds_ > 0) {
    out += event("cost", {{"from_ms", last_ms_},
                          {"to_ms", ms},
                          {"by_fingerprint", look.cost},
                          {"by_kind", more_of_kinds},
                          {"complete", complete_}});
  }
  last_ms_ = ms;
}

}  // namespace tailor::serve
