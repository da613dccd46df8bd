// What a reader must know before the figures.
#include <fmt/format.h>

#include <array>
#include <set>

#include "daemon/query/sums/drawn_total.h"
#include "daemon/query/time/pauses.h"
#include "daemon/query/time/rates.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

std::string kernel_notice(const query::Profile& profile, const query::PlanReport& report) {
  const profile::RecordingInfo& info = profile.recording();
  if (!info.kernel_not_sampled) return "";
  const auto unsampled = static_cast<double>(info.kernel_unsampled_ns);
  const double all = unsampled + static_cast<double>(info.cpu_used_ns);
  std::string out = report.all.amount.kernel > 0 ? "Kernel time of some processes was not sampled"
                                                 : "Kernel time was not sampled";
  if (info.kernel_unsampled_ns > 0 && info.cpu_used_ns > 0) {
    out += fmt::format(": it was {} of the {} CPU time that they used ({}), by the kernel's accounts",
                       duration(unsampled), duration(all), percent(unsampled / all));
  } else if (info.kernel_unsampled_ns > 0) {
    out += fmt::format(": it was {}, by the kernel's accounts", duration(unsampled));
  }
  return out + ". Shares are parts of what was sampled. `tailor events` says what is missing.";
}

std::string pause_notice(const query::Profile& profile, const query::PlanReport& report) {
  std::string text = query::pauses_text(profile.recording(), report.pauses);
  if (text.empty()) return text;
  text.front() = 'P';  // of "process"
  return text + ". What was used of the CPU meanwhile is not in this report.";
}

std::string rate_notice(const query::Profile& profile, const query::PlanReport& report) {
  std::string text = query::rates_text(profile.recording(), report.rates);
  if (text.empty()) return text;
  text.front() = 'P';  // of "process"
  return text + ". Every sample has the weight of its own rate.";
}

// What was sampled stands for itself alone; the sum of all is an estimate.
std::string draw_notice(const query::PlanReport& report) {
  const query::DrawnSum& drawn = report.drawn;
  if (drawn.drawn == drawn.executions) return "";
  std::string out = fmt::format(
      "A share of the executions is sampled: {} of the {} here were drawn, and this report is of these.",
      grouped(drawn.drawn), grouped(drawn.executions));
  const auto total = query::drawn_total(std::array{drawn});
  if (!total) return out + " They are too few to tell what all of them cost.";
  return out + fmt::format(" All of them together come to about {} (95 % range {} to {}).",
                           weight_text(total->weight, report.source), weight_text(total->low, report.source),
                           weight_text(total->high, report.source));
}

// What the elapsed time of this report is not of.
std::string elapsed_notice(const query::PlanReport& report) {
  if (!report.elapsed) return "";
  const query::ElapsedSum& sum = *report.elapsed;
  std::string out;
  const auto add = [&](const std::string& sentence) { out += (out.empty() ? "" : " ") + sentence; };
  if (sum.too_short > 0)
    add(fmt::format("{} execution{} left out: shorter than the time of {:.0f} samples.",
                    grouped(sum.too_short), sum.too_short == 1 ? " is" : "s are", query::kLeastPeriods));
  if (sum.not_drawn > 0)
    add(fmt::format("{} execution{} left out: not sampled (--sample-executions).", grouped(sum.not_drawn),
                    sum.not_drawn == 1 ? " is" : "s are"));
  if (sum.added_up > 0)
    add(fmt::format("{} execution{} left out: short runs that {} engine added up.", grouped(sum.added_up),
                    sum.added_up == 1 ? " is" : "s are", sum.added_up == 1 ? "its" : "their"));
  if (sum.outside.samples > 0)
    add(fmt::format("{} of no execution ({} of CPU time) {} no elapsed time.",
                    samples_text(static_cast<double>(sum.outside.samples)), duration(sum.outside.weight),
                    sum.outside.samples == 1 ? "has" : "have"));
  return out;
}

// Of the processes that have rows here: samples that are operators', but of no execution. A report on some
// executions may lack them.
std::uint64_t executions_unknown(const query::Profile& profile, const query::PlanReport& report) {
  std::set<ProcessId> processes;
  for (const query::PlanPart& part : report.plans) processes.insert(part.process);
  for (const query::NamedRow& row : report.component_rows) processes.insert(row.process);
  std::uint64_t out = 0;
  for (const ProcessId process : processes) {
    const auto account = profile.accounting().find(process);
    if (account != profile.accounting().end()) out += account->second.executions_unknown;
  }
  return out;
}

// What was lost elsewhere in the recording stands with its other losses, below.
std::string marks_notice(const query::Profile& profile, const query::PlanReport& report) {
  const std::uint64_t unknown = executions_unknown(profile, report);
  if (report.marks_lost.samples == 0 && unknown == 0) return "";
  std::string out = fmt::format(
      "Marks were lost: threads wrote more into their activity logs than was read in time ({} records of the "
      "whole recording).",
      grouped(report.accounting.total.log_lost));
  const double share = report.total.weight > 0 ? report.marks_lost.weight / report.total.weight : 0;
  if (report.marks_lost.samples > 0)
    out += fmt::format(" {} of this report ({}) {} unattributed for it.",
                       samples_text(static_cast<double>(report.marks_lost.samples)), percent(share),
                       report.marks_lost.samples == 1 ? "is" : "are");
  if (unknown > 0)
    out += fmt::format(" {}{} of its processes {} to operators, but to no execution.",
                       samples_text(static_cast<double>(unknown)),
                       report.marks_lost.samples > 0 ? " more" : "", unknown == 1 ? "belongs" : "belong");
  return out;
}

// The process that has most of it says why; the others are a number.
std::string unregistered_notice(const query::PlanReport& report) {
  query::Cell all;
  for (const query::UnregisteredCode& code : report.unregistered) {
    all.samples += code.cost.samples;
    all.weight += code.cost.weight;
  }
  const double share = report.total.weight > 0 ? all.weight / report.total.weight : 0;
  if (all.samples == 0 || share < query::kUnregisteredMatters) return "";
  const query::UnregisteredCode& most = report.unregistered.front();
  const std::size_t others = report.unregistered.size() - 1;
  std::string out = fmt::format(
      "{} of this report ({}) {} in generated code that nobody registered, so no operator has {}. "
      "Process {}: {}.",
      samples_text(static_cast<double>(all.samples)), percent(share), all.samples == 1 ? "is" : "are",
      all.samples == 1 ? "it" : "them", most.process.pid, query::found_text(most));
  if (others > 0)
    out += fmt::format(" {} more process{} such samples.", others, others == 1 ? " has" : "es have");
  return out + " `tailor doctor FILE` says what to do.";
}

}  // namespace

std::string notices(const query::Profile& profile, const query::PlanReport& report,
                    const Terminal& terminal) {
  std::string out;
  for (const std::string& notice :
       {marks_notice(profile, report), unregistered_notice(report), kernel_notice(profile, report),
        pause_notice(profile, report), rate_notice(profile, report), draw_notice(report),
        elapsed_notice(report)}) {
    if (!notice.empty()) out += terminal.warn(wrap(notice, terminal.width, 0)) + "\n";
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace tailor::cli
