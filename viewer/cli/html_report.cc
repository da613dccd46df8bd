#include "viewer/cli/html_report.h"

#include <fmt/format.h>

#include <utility>

#include "viewer/cli/compact_bundle.h"

namespace tailor::cli {
namespace {

constexpr std::string_view kOpening = R"(<script type="application/json" id="tailor-bundle">)";
constexpr std::string_view kEmpty = "null";
constexpr std::string_view kPackedOpening = R"(<script type="application/gzip" id="tailor-bundle">)";

}  // namespace

Result<std::string> html_report(std::string_view page, query::Json bundle) {
  if (page.empty()) {
    return unavailable(
        "this tailor was built without the web page; ./dev build makes it where npm's packages can be had");
  }
  const std::string place = fmt::format("{}{}</script>", kOpening, kEmpty);
  const std::size_t at = page.find(place);
  if (at == std::string_view::npos || page.find(place, at + 1) != std::string_view::npos) {
    return unavailable("the web page in this tailor does not have the place of its data exactly once");
  }
  const auto data =
      packed(compact_bundle(std::move(bundle)).dump(-1, ' ', false, query::Json::error_handler_t::replace));
  if (!data) return data.error();
  return fmt::format("{}{}{}{}", page.substr(0, at), kPackedOpening, *data,
                     page.substr(at + kOpening.size() + kEmpty.size()));
}

}  // namespace tailor::cli
