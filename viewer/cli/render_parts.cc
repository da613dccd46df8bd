#include "viewer/cli/render_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/query/load/damage.h"
#include "daemon/query/sums/terms.h"
#include "viewer/cli/accounting_text.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// Tags that were not where they are kept.
std::string recovered_text(const query::ByRule& by) {
  const auto found = by.find(profile::How::kTagUnwound);
  if (found == by.end()) return "";
  return fmt::format(" Tags found where a library had saved them: {}.",
                     grouped(static_cast<std::uint64_t>(std::llround(found->second))));
}

// What the row tables say of the instructions that were hit in generated code.
std::string links_text(const query::Evidence& evidence) {
  double all = 0;
  for (const auto& [quality, samples] : evidence.by_link) all += samples;
  if (all == 0) return "";
  std::string parts;
  for (const auto& [quality, samples] : evidence.by_link) {
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ", query::term(quality).text, percent(samples / all));
  }
  return fmt::format(" Links of {} in generated code: {}.", samples_text(all), parts);
}

// Those with samples, and how many more ran.
std::string executions_text(const query::PlanPart& part) {
  std::string out = fmt::format("{} execution{}", grouped(part.executions), part.executions == 1 ? "" : "s");
  const std::uint64_t more = part.executions_without_sample.value_or(0);
  return more == 0 ? out : out + fmt::format(", {} more without a sample", grouped(more));
}

}  // namespace

std::string weight_text(double weight, const profile::Source& source) {
  if (source.unit == profile::Unit::kEvents) return grouped(static_cast<std::uint64_t>(weight)) + " events";
  return fmt::format("{} {}", duration(weight), query::term(source.unit).text);
}

std::string weight_text(double weight, const query::PlanReport& report) {
  return report.elapsed ? duration(weight) + " elapsed time" : weight_text(weight, report.source);
}

std::string weight_text(double weight, const query::FlameReport& report) {
  return report.elapsed ? duration(weight) + " elapsed time" : weight_text(weight, report.source);
}

std::string samples_text(double samples) {
  const auto count = static_cast<std::uint64_t>(std::llround(samples));
  return fmt::format("{} {}", grouped(count), count == 1 ? "sample" : "samples");
}

std::string source_text(const profile::Source& source, const Terminal& terminal) {
  std::string name = escape(source.name, terminal.ascii);
  if (source.period == 0) return name;
  if (source.unit == profile::Unit::kEvents)
    return fmt::format("{}, one sample per {} events", name, grouped(source.period));
  return fmt::format("{}, one sample per {}", name, duration(static_cast<double>(source.period)));
}

std::string plan_heading(const query::Profile& profile, const query::PlanReport& report, ProcessId process,
                         PlanId plan, const std::string& name, const Terminal& terminal) {
  std::string engine = fmt::format("pid {}", process.pid);
  if (const auto it = profile.processes().find(process); it != profile.processes().end()) {
    const profile::ProcessRecord& p = it->second;
    engine =
        fmt::format("{} {} (pid {})", escape(p.engine_name.empty() ? p.comm : p.engine_name, terminal.ascii),
                    escape(p.engine_version, terminal.ascii), process.pid);
  }
  const query::PlanPart* part = nullptr;
  for (const query::PlanPart& candidate : report.plans) {
    if (candidate.process == process && candidate.plan == plan) part = &candidate;
  }
  const std::string title = escape_line(name.empty() ? "unnamed query" : name, terminal.ascii);
  std::string out = fmt::format("{} {} {}", title, terminal.dot(), engine);
  if (part != nullptr) {
    out +=
        fmt::format(" {} {} {} own time {} in {}", terminal.dot(), executions_text(*part), terminal.dot(),
                    weight_text(part->cost.amount.weight, report), samples_text(part->cost.amount.samples));
  }
  out = wrap(out, terminal.width, 0) + "\n";
  if (out.starts_with(title)) out = terminal.bold(title) + out.substr(title.size());
  if (const std::string* sql = profile.attachment(process, plan, "sql")) {
    out += terminal.dim(cut(sql_line(*sql, terminal.ascii), terminal.width, terminal.ascii)) + "\n";
  }
  return out;
}

std::string off_cpu_section(const query::PlanReport& report, const Terminal& terminal) {
  if (!report.off_cpu) return "";
  constexpr std::size_t kMost = 12;
  const query::WaitLane& lane = *report.off_cpu;
  // What it waited for, most first.
  auto reasons = [&](const query::WaitRow& row) {
    std::vector<std::pair<double, std::string>> parts;
    for (std::size_t i = 1; i < row.ns_without_event.size(); ++i) {
      if (row.ns_without_event[i] <= 0) continue;
      std::string name(query::wait_key(static_cast<profile::Wait>(i)));
      std::ranges::replace(name, '_', ' ');
      parts.emplace_back(row.ns_without_event[i], std::move(name));
    }
    for (const auto& [event, ns] : row.ns_of_event)
      parts.emplace_back(ns, escape_line(event, terminal.ascii));
    std::ranges::sort(parts, std::ranges::greater{});
    std::string text;
    for (const auto& [ns, name] : parts) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent(ns / row.ns));
    }
    return text;
  };
  const std::size_t waits = number_width(lane.total.waits, 9);
  auto line = [&](const query::WaitRow& row, const std::string& name) {
    return pad_left(duration(row.ns), 11) +
           pad_left(grouped(static_cast<std::uint64_t>(std::llround(row.waits))), waits) + "  " +
           cut(name + ": " + reasons(row), std::max<std::size_t>(terminal.width, 60) - waits - 13,
               terminal.ascii) +
           "\n";
  };
  const bool beside = report.source.unit != profile::Unit::kNsOffCpu;
  std::string out = terminal.bold("    off CPU" + pad_left("waits", waits) + "  whose: what it waited for" +
                                  (beside ? " (beside the shares above, not part of them)" : "")) +
                    "\n";
  for (std::size_t i = 0; i < lane.rows.size() && i < kMost; ++i) {
    out += line(lane.rows[i], escape_line(lane.rows[i].name, terminal.ascii));
  }
  if (lane.rows.size() > kMost) out += fmt::format("{:22}{} more (--json)\n", "", lane.rows.size() - kMost);
  return out + line(lane.total, "all") + "\n";
}

std::string coverage_warning(const query::Coverage& coverage) {
  return fmt::format(
      "Samples stand for {} of {} CPU time only: the rest was not seen, and shares are of what was. Where "
      "perf "
      "takes the samples of each thread, what is missed are threads and processes that live less than a "
      "period, "
      "and programs that have the rights of another user (set-uid) from their begin on.",
      duration(coverage.sampled_ns), duration(coverage.used_ns));
}

std::string quality_section(const query::Profile& profile, const query::PlanReport& report,
                            const Terminal& terminal) {
  const double total = report.total.weight > 0 ? report.total.weight : 1;
  std::string facts;
  if (!profile.narrowed_to().empty())
    facts = fmt::format("Only {}. ", escape_line(profile.narrowed_to(), terminal.ascii));
  facts += fmt::format("{}; lost {} ({}); location inferred {}; shared by several operators {}.",
                       source_text(report.source, terminal),
                       samples_text(static_cast<double>(report.accounting.lost())),
                       percent(report.accounting.lost_share()), percent(report.all.amount.inferred / total),
                       percent(report.all.amount.shared / total));
  facts += links_text(report.evidence);
  facts += recovered_text(report.evidence.all);
  const profile::RecordingInfo& info = profile.recording();
  if (info.aggregated_ns > 0) {
    facts += fmt::format(
        " Samples were added up for {}: only to that is known when they were taken, and in which execution; "
        "a sum "
        "counts as one sample in numbers and intervals.",
        duration(static_cast<double>(info.aggregated_ns)));
  }
  if (!info.clock_source.empty()) {
    facts += fmt::format(" Clock: {} {}{}.", escape_line(info.clock_source, terminal.ascii),
                         terminal.plus_minus(), duration(static_cast<double>(info.clock_error_ns)));
  }
  const TimeNs span = profile.last_time() - info.start;
  if (info.steal_ns > 0 && info.cpus > 0 && span > 0) {
    const double available = static_cast<double>(span) * info.cpus;
    facts += fmt::format(" The hypervisor gave {} of the CPUs' time to others.",
                         percent(static_cast<double>(info.steal_ns) / available));
  }
  if (info.own_cpu_ns > 0 && span > 0) {
    facts += fmt::format(" The recorder itself used {} of a core.",
                         percent(static_cast<double>(info.own_cpu_ns) / static_cast<double>(span)));
  }
  const auto coverage = query::coverage_of(info);
  if (coverage) {
    facts +=
        fmt::format(" Samples stand for {} of {} CPU time of the processes ({}).",
                    duration(coverage->sampled_ns), duration(coverage->used_ns), percent(coverage->share));
  }
  for (const auto& [source, cell] : report.other_sources) {
    facts += fmt::format(" Also recorded: {} samples of {} (--source).", grouped(cell.samples),
                         escape(source.name, terminal.ascii));
  }
  facts += " " + accounting_text(report.accounting);
  std::string out = terminal.bold("Measured") + "\n" + wrap(facts, terminal.width, 2) + "\n";
  const std::string damage = query::damage_text(profile);
  if (!damage.empty()) out += terminal.warn(wrap(escape(damage, terminal.ascii), terminal.width, 0)) + "\n";
  if (coverage && coverage->falls_short)
    out += terminal.warn(wrap(coverage_warning(*coverage), terminal.width, 0) + "\n");
  return out;
}

}  // namespace tailor::cli
