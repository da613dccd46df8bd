#include "daemon/serve/http/assets.h"

#include <algorithm>
#include <span>

namespace tailor::serve {

// asset_files.cc, which CMake writes from what lies in viewer/web/dist: the page's files, then the others.
std::span<const Asset> asset_files();
std::string_view embedded_report_template();
std::string_view embedded_openapi();

namespace {

constexpr Asset kNoPage = {
    "/index.html", "text/html; charset=utf-8",
    "<!doctype html><html lang=en><meta charset=utf-8><title>Tailor</title>"
    "<body><h1>Tailor</h1><p>This program was built without its web page. The interface works: see "
    "<a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>. Build viewer/web first to have the "
    "page.</p>"};

}  // namespace

const Asset* find_asset(std::string_view path) {
  const std::span<const Asset> files = asset_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const Asset& each) { return each.path == path; });
  if (found != files.end()) return &*found;
  return path == kNoPage.path ? &kNoPage : nullptr;
}

std::string_view report_template() {
  return embedded_report_template();
}

std::string_view openapi_document() {
  return embedded_openapi();
}

}  // namespace tailor::serve
