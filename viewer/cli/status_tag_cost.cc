#include "viewer/cli/status_tag_cost.h"

#include <fmt/format.h>

#include <string>

#include "daemon/query/time/wall_time.h"
#include "daemon/serve/service.h"
#include "proto/base/stop.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::uint64_t kHourNs = std::uint64_t{3'600} * 1'000'000'000;

std::string text_of(const query::Json& cost) {
  const std::string of = fmt::format("{} executions with tags and {} without in the last hour",
                                     grouped(cost.at("with").at("executions").get<std::uint64_t>()),
                                     grouped(cost.at("without").at("executions").get<std::uint64_t>()));
  const query::Json& ratio = cost.at("ratio");
  if (ratio.is_null()) return fmt::format("not known yet: {}", of);
  return fmt::format("{:.3f} times the CPU time ({:.3f} to {:.3f}): {} (tailor ab)",
                     ratio.at("value").get<double>(), ratio.at("low").get<double>(),
                     ratio.at("high").get<double>(), of);
}

}  // namespace

Result<std::optional<query::Json>> status_tag_cost(const v1::DaemonStatus& status) {
  if (status.untagged_ppm() == 0) return std::optional<query::Json>();
  const auto library = serve::open_store_library(status.store(), {});
  serve::Service service(*library, {});
  serve::TagCostRequest request;
  const std::uint64_t now = query::wall_clock_ns();
  request.filter.since_ns = now > kHourNs ? now - kHourNs : 0;
  request.limit = 0;
  const Stop stop;
  auto answer = service.answer(request, serve::Access::everything(), stop);
  if (!answer) return answer.error();
  answer->erase("queries");
  return std::optional<query::Json>(std::move(*answer));
}

std::string tag_cost_line(const Result<std::optional<query::Json>>& cost, const Terminal& terminal) {
  constexpr const char* kLine = "  cost of tags         {}\n";
  if (!cost) return terminal.warn(fmt::format(kLine, escape_line(cost.error().message, terminal.ascii)));
  return *cost ? fmt::format(kLine, text_of(**cost)) : "";
}

}  // namespace tailor::cli
