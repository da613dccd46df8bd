// The files of the page that are part of the program.
#pragma once

#include <string_view>

namespace tailor::serve {

struct Asset {
  std::string_view path;  // "/index.html"
  std::string_view type;  // of its content
  std::string_view content;
};

// Null for a file that there is not. Without a build of the page "/index.html" says how to make one.
const Asset* find_asset(std::string_view path);

// The page as one file, with the place for a bundle in it; "" without a build of the page.
std::string_view report_template();

// daemon/serve/openapi.json
std::string_view openapi_document();

}  // namespace tailor::serve
