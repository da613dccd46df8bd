// Reports as text for people. Every string from a profile is escaped here and nowhere else.
#pragma once

#include <string>

#include "daemon/query/load/profile.h"
#include "daemon/query/reports/annotate_report.h"
#include "daemon/query/reports/function_report.h"
#include "daemon/query/reports/memory_report.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/stack_rules.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

std::string render(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal);
std::string render(const query::Profile& profile, const query::LevelReport& report, const Terminal& terminal);

std::string render(const query::Profile& profile, const query::MemoryReport& report,
                   const Terminal& terminal);

// How much of it.
struct FunctionView {
  std::size_t limit = 30;  // functions
  std::size_t calls = 60;  // lines of the call graph
};
// `others`: of other events (query::other_events()).
std::string render(const query::Profile& profile, const query::FunctionReport& report,
                   const std::vector<query::FunctionReport>& others, const Terminal& terminal,
                   const FunctionView& view = {});
std::string render(const query::Profile& profile, const query::RuleReport& report, const Terminal& terminal);

struct AnnotateOptions {
  bool all = false;  // functions, lines and machine code without any cost too
};
struct ListingText {
  std::string text;
  std::size_t hottest =
      0;  // the line of the text, from 1, a few above the one that cost most; 0: none cost anything
};
ListingText render(const query::Profile& profile, const query::AnnotateReport& report,
                   const Terminal& terminal, const AnnotateOptions& options);

}  // namespace tailor::cli
