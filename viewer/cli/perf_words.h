// What people who know perf type at `tailor`: it does the same, or the error says what to type instead.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/config/sampling_options.h"
#include "proto/base/result.h"

namespace tailor::cli {

// Adds -g and --call-graph of `perf record`. `sampling` must outlive the parsing.
void add_call_graph(CLI::App& command, config::SamplingOptions& sampling);
// Adds the options of perf's command of this kind that have no meaning here, after all others. Help does not
// list them. The parser throws its error for them, which says what to type, before any other of the command.
void add_perf_words(CLI::App& command);

// What to type instead of a command of perf; "": perf has none of that name, or we have one too.
std::string_view instead_of_perf_command(std::string_view name);

// The pid that `-p` names. Fails for several, and for what is no number.
Result<std::int32_t> parse_pid(const std::string& text);

}  // namespace tailor::cli
