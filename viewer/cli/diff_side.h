// What `tailor diff` compares: the name of one side.
#pragma once

#include <string>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::cli {

struct DiffSide {
  std::string what;       // a file or an execution of the store; "" where the store's fingerprint is meant
  std::string execution;  // of the file, the start of its id; "" none
  // All runs of a query, as the options of these names have them; "" not given.
  std::string fingerprint, since, until;
};

// "FILE", "EXECUTION", "FILE#EXECUTION", "fingerprint:DIGITS" and "FILE#fingerprint:DIGITS", the last two
// also with "@SINCE..UNTIL", of which one may be empty. Fails, saying the form, for a fingerprint without
// digits or with half of a range.
Result<DiffSide> parse_diff_side(std::string_view text);

}  // namespace tailor::cli
