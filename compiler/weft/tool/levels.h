// `weft explain --levels`: a query on all its levels, from the plan down to machine code, with their links.
#pragma once

#include <string>

#include "compiler/weft/plan/operator.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft {

struct LevelsStyle {
  bool colour = false;      // one for each operator
  std::size_t width = 160;  // columns
};

// Colours on a terminal only, and not with NO_COLOR or TERM=dumb; its width, else COLUMNS, else 160.
LevelsStyle detect_style();

// Names and texts of the query with everything escaped but printable ASCII.
std::string escape_text(std::string_view text);

// Plan, pipelines, and for every function its IR line by line beside the instructions that it became. Every
// instruction of the code is in it once. Errors: links of `code` that lead nowhere.
Result<std::string> levels_text(const Plan& tree, const v1::Plan& plan, const v1::CodeObject& code,
                                const LevelsStyle& style);
// The same as JSON (docs/weft-sql.md).
Result<std::string> levels_json(const v1::Plan& plan, const v1::CodeObject& code);

}  // namespace tailor::weft
