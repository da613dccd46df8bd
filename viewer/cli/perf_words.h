// What people who know perf type at `tailor record` and `tailor report`: it does the same, or the error says
// what to type instead.
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
  // None.
  PerfWords() = default;
  // Adds the options of `perf record`. `sampling` must outlive the parsing.
  PerfWords(CLI::App& command, config::SamplingOptions& sampling);
  // Adds those of `perf report`.
  static PerfWords of_report(CLI::App& command);

  // Fails where one of them was given that has no meaning here: the error names it and what to type.
  Status check() const;

 private:
  void add(CLI::App& command, const char* names, bool has_value, const char* instead);

  struct Word {
    const CLI::Option* option;
    const char* names;  // as "-i,--input"
    const char* instead;
  };
  std::vector<Word> words_;
};

// The pid that `-p` names. Fails for several, and for what is no number.
Result<std::int32_t> parse_pid(const std::string& text);

}  // namespace tailor::cli
