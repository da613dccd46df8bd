// What all reports have in common: headings, the sum up to 100 %, the quality of the data.
#pragma once

#include <string>

#include "daemon/query/load/profile.h"
#include "daemon/query/reports/flame.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/sums/coverage.h"
#include "viewer/cli/cost_table.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// A weight in words: time as a duration, events as a number.
std::string weight_text(double weight, const profile::Source& source);
// The same of a report, whose weights may be elapsed time.
std::string weight_text(double weight, const query::PlanReport& report);
std::string weight_text(double weight, const query::FlameReport& report);

// Whose plan, how often it ran, how much was sampled: the line above a plan.
std::string plan_heading(const query::Profile& profile, const query::PlanReport& report, ProcessId process,
                         PlanId plan, const std::string& name, const Terminal& terminal);
// What is wrong with the whole: marks that were lost, kernel time that was not sampled; "" if nothing is.
// First in every report.
std::string notices(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal);
// Operators + engine components + unattributed = 100 %.
std::string sum_section(const query::PlanReport& report, const CostTable& table);
// Time off the CPU by owner; "" where it was not recorded.
std::string off_cpu_section(const query::PlanReport& report, const Terminal& terminal);
// How far the figures can be trusted: lost, inferred and shared share, clock, damage of the file.
std::string quality_section(const query::Profile& profile, const query::PlanReport& report,
                            const Terminal& terminal);

// "1,234 samples".
std::string samples_text(double samples);

// Of samples that stand for less than they should.
std::string coverage_warning(const query::Coverage& coverage);

// One line that says what `source` means: "a sample every 1.00 ms of CPU time".
std::string source_text(const profile::Source& source, const Terminal& terminal);

}  // namespace tailor::cli
