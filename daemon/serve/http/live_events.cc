#include "daemon/serve/http/live_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace tailor::serve {
namespace {

constexpr std::chrono::milliseconds kPeriod{1000};
constexpr std::size_t kMostRows = 50;

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

void LiveEvents::tell_executions(std::string& out) {
  const Stop stop(Stop::Clock::now() + kPeriod * 5);
  ExecutionsRequest request;
  request.filter.limit = kMostRows;
  auto list = service_.answer(request, access_, stop);
  if (!list) return;
  std::map<std::string, std::string> told;
  std::map<std::string, double> cpu_ns;
  Json by_query = Json::object();
  for (const Json& row : (*list)["executions"]) {
    const std::string id = row["id"], text = row.dump(-1, ' ', false, Json::error_handler_t::replace);
    const double cost = row["cpu_ns"];
    const auto before = cpu_ns_.find(id);
    const double more = before == cpu_ns_.end() ? (rounds_ == 0 ? 0 : cost) : cost - before->second;
    if (more > 0) {
      const std::string key = "fingerprint:" + row["fingerprint"].get<std::string>();
      by_query[key] = by_query.value(key, 0.0) + more;
    }
    if (told_[id] != text) out += event("execution", row);
    told[id] = text;
    cpu_ns[id] = cost;
  }
  told_ = std::move(told);
  cpu_ns_ = std::move(cpu_ns);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double ms = std::chrono::duration<double, std::milli>(now).count();
  if (rounds_ > 0)
    out += event(
        "cost",
        {{"from_ms", last_ms_}, {"to_ms", ms}, {"by_fingerprint", by_query}, {"by_kind", Json::object()}});
  last_ms_ = ms;
}

}  // namespace tailor::serve
