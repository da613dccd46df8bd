#include "viewer/cli/html_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/serve/http/assets.h"
#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "daemon/store/output_file.h"
#include "daemon/store/output_target.h"
#include "viewer/cli/command.h"
#include "viewer/cli/html_report.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
int write_html(Choice choice, const std::string& path) {
  const auto target = target_of(choice);
  if (!target) return complain(target.error());
  if (serve::report_template().empty()) return complain(html_report("", nullptr).error());
  const auto library = open_library(choice);
  serve::ServiceOptions options{TAILOR_VERSION, {}};
  options.names_from = query::NamesFrom::kFilesToo;
  serve::Service service(*library, std::move(options));
  auto bundle = service.bundle(*target, serve::Access::everything(), Stop());
  if (!bundle) return complain(bundle.error());
  const auto report = html_report(serve::report_template(), *std::move(bundle));
  if (!report) return complain(report.error());
  if (auto ok = store::write_output(path, *report); !ok) return complain(ok.error());
  if (!store::is_standard_output(path))
    fmt::print("{}: {:.1f} MB, opens in any browser\n", escape(path, false),
               static_cast<double>(report->size()) / 1e6);
  return kOk;
}

}  // namespace tailor::cli
