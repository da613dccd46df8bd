#include "viewer/cli/history_command.h"

#include <fmt/format.h>

#include "daemon/query/time/wall_time.h"
#include "daemon/serve/service.h"
#include "viewer/cli/command.h"
#include "viewer/cli/render_history.h"

namespace tailor::cli {

int show_history(const Choice& choice, const std::string& by) {
  if (!choice.what.empty() || choice.has_last || choice.filter.need_executions()) {
    return complain(
        invalid("--by shows the daemon's store; --since, --until and --fingerprint say what of it, and "
                "nothing else does"));
  }
  const auto filter = execution_filter(choice.filter, query::wall_clock_ns());
  if (!filter) return complain(filter.error());
  serve::HistoryRequest request;
  request.fingerprint = filter->fingerprint;
  request.since_ns = filter->since_ns;
  request.until_ns = filter->until_ns;
  request.by = by == "hour" ? serve::HistoryRequest::Period::kHour : serve::HistoryRequest::Period::kDay;
  const auto library = open_library(choice);
  serve::Service service(*library, {});
  const Stop stop;
  const auto answer = service.answer(request, serve::Access::everything(), stop);
  if (!answer) return complain(answer.error());
  if (choice.json) {
    print_json(query::dump(*answer));
  } else {
    print_text(render_history(*answer, choice.terminal()), choice.terminal());
  }
  return kOk;
}

}  // namespace tailor::cli
