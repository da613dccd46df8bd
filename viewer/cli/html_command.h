// `tailor report --html`.
#pragma once

#include <string>

#include "viewer/cli/choose.h"

namespace tailor::cli {

// Writes the page with everything that was chosen into the file `path`, and says what is in it. An ExitCode.
int write_html(Choice choice, const std::string& path);

}  // namespace tailor::cli
