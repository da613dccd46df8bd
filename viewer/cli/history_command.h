// `tailor report --by`: a query over hours or days.
#pragma once

#include <string>

#include "viewer/cli/choose.h"

namespace tailor::cli {

// `by`: "hour" or "day". Prints the report, or complains; gives the exit code.
int show_history(const Choice& choice, const std::string& by);

}  // namespace tailor::cli
