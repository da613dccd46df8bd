// Everything that `tailor` does with a profile, for the fuzzers.
#pragma once

#include <cstdlib>

#include "daemon/query/json/report_json.h"
#include "viewer/cli/render.h"

namespace tailor::test {

// Aborts on what no profile may cause: control characters in the output.
inline void check_text(const std::string& text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') std::abort();
  }
}

inline void show_everything(store::Input& input) {
  query::LoadOptions options;
  options.code = options.keep_samples = true;
  auto profile = query::Profile::load(input, options);
  if (!profile) return;
  cli::Terminal terminal;
  terminal.ascii = false;
  terminal.width = 100;
  if (auto report = query::plan_report(*profile, {})) {
    check_text(cli::render(*profile, *report, terminal));
    query::to_json(*profile, *report);
  }
  if (auto time = query::elapsed_time(*profile, {})) {
    if (time->sum.worked_ns > time->sum.elapsed_ns) std::abort();
    if (auto report = query::plan_report(*time)) {
      check_text(cli::render(time->profile, *report, terminal));
      query::to_json(time->profile, *report);
    }
  }
  if (auto report = query::level_report(*profile, {}, "task")) {
    check_text(cli::render(*profile, *report, terminal));
    query::to_json(*profile, *report);
  }
  if (auto report = query::annotate_report(*profile, {}, 0)) {
    for (const bool all : {true, false})
      check_text(cli::render(*profile, *report, terminal, {.all = all}).text);
    query::to_json(*profile, *report);
  }
}

}  // namespace tailor::test
