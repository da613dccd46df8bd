// What people who know perf type at `tailor record`: it does the same, or the error says what to type
// instead.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/config/sampling_options.h"
#include "proto/base/result.h"

namespace tailor::cli {

class PerfWords {
 public:
  // Adds the options. `sampling` must outlive the parsing.
  PerfWords(CLI::App& command, config::SamplingOptions& sampling);

  // Fails where one of them was given that has no meaning here: the error names it and what to type.
  Status check() const;

 private:
  struct Word {
    const CLI::Option* option;
    const char* instead;
  };
  std::vector<Word> words_;
};

// The pid that `-p` names. Fails for several, and for what is no number.
Result<std::int32_t> parse_pid(const std::string& text);

}  // namespace tailor::cli
