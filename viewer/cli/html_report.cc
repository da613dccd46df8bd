#include "viewer/cli/html_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::cli {
namespace {

constexpr std::string_view kOpening = R"(<script type="application/json" id="tailor-bundle">)";
constexpr std::string_view kEmpty = "null";

}  // namespace

Result<std::string> html_report(std::string_view page, std::string_view bundle) {
  if (page.empty()) {
    return unavailable(
        "this tailor was built without the web page; ./dev build makes it where npm's packages can be had");
  }
  const std::string place = fmt::format("{}{}</script>", kOpening, kEmpty);
  const std::size_t at = page.find(place);
  if (at == std::string_view::npos || page.find(place, at + 1) != std::string_view::npos) {
    return unavailable("the web page in this tailor does not have the place of its data exactly once");
  }
  const std::size_t data = at + kOpening.size();
  std::string out;
  out.reserve(page.size() + bundle.size() + 5 * static_cast<std::size_t>(std::ranges::count(bundle, '<')));
  out += page.substr(0, data);
  for (char c : bundle) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += page.substr(data + kEmpty.size());
  return out;
}

}  // namespace tailor::cli
