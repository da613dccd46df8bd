#include "viewer/cli/html_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/serve/error_json.h"
#include "daemon/serve/http/assets.h"
#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/html_report.h"

namespace tailor::cli {
namespace {

serve::Target target_of(const Choice& choice, std::size_t last) {
  const bool file = names_file(choice);
  const std::string& prefix = choice.execution.empty() && !file ? choice.what : choice.execution;
  if (!prefix.empty()) return serve::prefix_target(prefix);
  serve::Target target;
  if (last > 0) {
    target.what = serve::Target::What::kLast;
    target.count = last;
  }
  return target;
}

}  // namespace

int write_html(Choice choice, const std::string& path) {
  std::size_t last = 0;
  if (auto ok = settle_last(choice, last); !ok) return complain(ok.error());
  if (serve::report_template().empty()) return complain(html_report("", "null").error());
  const auto library = names_file(choice)
                           ? serve::open_file_library(choice.what)
                           : serve::open_store_library(store_directory(choice.store), flush_daemon);
  serve::Service service(*library, {TAILOR_VERSION, {}});
  const auto bundle = service.bundle(target_of(choice, last), serve::Access::everything(), Stop());
  if (!bundle) return complain(bundle.error().message, serve::exit_code(bundle.error().kind));
  const std::string data = bundle->dump(-1, ' ', false, serve::Json::error_handler_t::replace);
  const auto report = html_report(serve::report_template(), data);
  if (!report) return complain(report.error());
  if (auto ok = write_whole_file(path, *report); !ok) return complain(ok.error());
  fmt::print("{}: {:.1f} MB, opens in any browser\n", path, static_cast<double>(report->size()) / 1e6);
  return kOk;
}

}  // namespace tailor::cli
