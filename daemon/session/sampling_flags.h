// The command-line options behind SamplingOptions; what they mean is said once, for every program that
// samples.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "daemon/session/sampling_options.h"

namespace tailor::session {

// `options` must outlive the parsing. Returns the options that were added; `app` owns them.
std::vector<const CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& options);

}  // namespace tailor::session
