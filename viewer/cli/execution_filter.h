// The options that choose executions by time, process, cgroup, label, query and duration.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/serve/library.h"
#include "proto/base/result.h"

namespace tailor::cli {

// As they were typed; empty: not given.
struct FilterOptions {
  std::string since, until, process, cgroup, fingerprint, longer_than;
  std::vector<std::string> labels;

  bool any() const {
    return !since.empty() || !until.empty() || !process.empty() || !cgroup.empty() || !fingerprint.empty() ||
           !longer_than.empty() || !labels.empty();
  }
  // Whether they ask for what sums of hours do not know.
  bool need_executions() const {
    return !process.empty() || !cgroup.empty() || !longer_than.empty() || !labels.empty();
  }
};

// Their names on the command line.
inline constexpr const char* kFilterOptions[] = {"--since", "--until",       "--process",    "--cgroup",
                                                 "--label", "--fingerprint", "--longer-than"};

// Adds them to `command`. `options` must outlive the parsing.
void add_filter(CLI::App& command, FilterOptions& options);

// `now_ns`: CLOCK_REALTIME. Errors name the option and the forms that it accepts.
Result<serve::ExecutionFilter> execution_filter(const FilterOptions& options, std::uint64_t now_ns);

// The time that the filter chooses; all of it where it chooses none.
store::WallRange range_of(const serve::ExecutionFilter& filter);

}  // namespace tailor::cli
