#include "viewer/cli/render_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/query/words.h"
#include "viewer/cli/accounting_text.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// The rows of a class in one line: "compile 2.1 %, schedule 1.0 %".
std::string rows_text(const std::vector<query::NamedRow>& rows, const Terminal& terminal) {
  constexpr std::size_t kMost = 6;
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMost; ++i) {
    if (i > 0) out += ", ";
    out += fmt::format("{} {}", escape(rows[i].name, terminal.ascii), percent(rows[i].cost.share));
  }
  if (rows.size() > kMost) out += fmt::format(", {} more (--json)", rows.size() - kMost);
  return out;
}

std::string sum_line(const query::Share95& cost, std::string_view what, const std::string& rows,
                     const Terminal& terminal) {
  constexpr std::size_t kWhatWidth = 19;
  constexpr std::size_t kIndent = kShareWidth + 2 + kWhatWidth;
  const std::string head = share_cell(cost, terminal) + "  ";
  if (rows.empty()) return head + std::string(what) + "\n";
  const std::string wrapped = wrap(rows, std::max(terminal.width, kIndent + 20), kIndent);
  return head + pad(what, kWhatWidth) + wrapped.substr(kIndent) + "\n";
}

std::string damage_text(const query::Profile& profile) {
  const store::ReadReport& read = profile.read_report();
  std::string out;
  if (read.damaged_spots + read.malformed_blocks + read.missing_blocks > 0) {
    out += fmt::format(
        "The profile is damaged: {} block{} missing, {} spot{} unreadable, {} block{} malformed; first {}.\n",
        read.missing_blocks, read.missing_blocks == 1 ? " is" : "s are", read.damaged_spots,
        read.damaged_spots == 1 ? " is" : "s are", read.malformed_blocks,
        read.malformed_blocks == 1 ? " is" : "s are", read.first_problem);
  }
  if (!read.finished) {
    out += fmt::format(
        "The recording was not finished: it still runs, or its writer was killed ({} bytes of an "
        "incomplete block at the end).\n",
        read.tail_bytes);
  }
  const store::SaidLoss& loss = profile.said_loss();
  if (loss.blocks > 0) {
    out += fmt::format("While recording, {} blocks with {} samples could not be written: {}\n", loss.blocks,
                       loss.samples, loss.reason);
  }
  return out;
}

// The functions in which nobody's samples are, those worth a line.
std::string places_lines(const query::PlanReport& report, const Terminal& terminal) {
  constexpr std::size_t kMost = 5;
  constexpr double kLeastShare = 0.0005;
  std::string out;
  for (std::size_t i = 0; i < report.unattributed_places.size() && i < kMost; ++i) {
    const auto& [place, cost] = report.unattributed_places[i];
    if (cost.share < kLeastShare) break;
    const std::string line =
        fmt::format("{}  in {}{}: {}", pad_left(percent(cost.share), kShareWidth),
                    place.kernel ? "the kernel, from " : "", escape_line(place.where, terminal.ascii),
                    query::word(place.reason).text);
    out += terminal.dim(cut("    " + line, terminal.width, terminal.ascii)) + "\n";
  }
  return out;
}

// Tags that were not where they are kept.
std::string recovered_text(const query::ByRule& by) {
  const auto found = by.find(profile::How::kTagUnwound);
  if (found == by.end()) return "";
  return fmt::format(" Tags found where a library had saved them: {}.",
                     grouped(static_cast<std::uint64_t>(std::llround(found->second))));
}

std::string plural(std::uint64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(n), n == 1 ? one : many);
}

// What the row tables say of the instructions that were hit in generated code.
std::string links_text(const query::Evidence& evidence) {
  double all = 0;
  for (const auto& [quality, samples] : evidence.by_link) all += samples;
  if (all == 0) return "";
  std::string parts;
  for (const auto& [quality, samples] : evidence.by_link) {
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ", query::word(quality).text, percent(samples / all));
  }
  return fmt::format(" Links of {} in generated code: {}.",
                     plural(static_cast<std::uint64_t>(std::llround(all)), "sample", "samples"), parts);
}

}  // namespace

std::string share_cell(const query::Share95& cost, const Terminal& terminal) {
  const std::string cell = pad_left(percent(cost.share), kShareWidth);
  if (cost.share >= 0.1) return terminal.bold(cell);
  return cost.share < 0.005 ? terminal.dim(cell) : cell;
}

std::string range_cell(const query::Share95& cost, const Terminal& terminal) {
  const std::string range =
      fmt::format("{:.1f}{}{:.1f} %", 100 * cost.interval.low, terminal.dash(), 100 * cost.interval.high);
  return terminal.dim(pad_left(range, kRangeWidth));
}

std::string weight_text(double weight, const profile::Source& source) {
  if (source.unit == profile::Unit::kEvents) return grouped(static_cast<std::uint64_t>(weight)) + " events";
  return fmt::format("{} {}", duration(weight), query::word(source.unit).text);
}

std::string source_text(const profile::Source& source, const Terminal& terminal) {
  const std::string name = escape(source.name, terminal.ascii);
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
    out += fmt::format(
        " {} {} {} {} in {}", terminal.dot(), plural(part->executions, "execution", "executions"),
        terminal.dot(), weight_text(part->cost.amount.weight, report.source),
        plural(static_cast<std::uint64_t>(std::llround(part->cost.amount.samples)), "sample", "samples"));
  }
  out = wrap(out, terminal.width, 0) + "\n";
  if (out.starts_with(title)) out = terminal.bold(title) + out.substr(title.size());
  if (const std::string* sql = profile.attachment(process, plan, "sql")) {
    out += terminal.dim(cut(sql_line(*sql, terminal.ascii), terminal.width, terminal.ascii)) + "\n";
  }
  return out;
}

std::string sum_section(const query::PlanReport& report, const Terminal& terminal) {
  std::string out = terminal.bold("Everything") + "\n";
  out += sum_line(report.operators, "operators", "", terminal);
  out +=
      sum_line(report.components, "engine components", rows_text(report.component_rows, terminal), terminal);
  out +=
      sum_line(report.unattributed, "unattributed", rows_text(report.unattributed_rows, terminal), terminal);
  out += places_lines(report, terminal);
  const double kernel = report.total.weight > 0 ? report.all.amount.kernel / report.total.weight : 0;
  const std::string whole =
      fmt::format("= {} in {}, of which in the kernel {}", weight_text(report.total.weight, report.source),
                  plural(report.total.samples, "sample", "samples"), percent(kernel));
  out += pad_left(percent(1), kShareWidth) +
         wrap(whole, terminal.width, kShareWidth + 2).substr(kShareWidth) + "\n";
  return out;
}

std::string off_cpu_section(const query::PlanReport& report, const Terminal& terminal) {
  if (!report.off_cpu) return "";
  constexpr std::size_t kMost = 12;
  const query::WaitLane& lane = *report.off_cpu;
  // What it waited for, most first.
  auto reasons = [](const query::WaitRow& row) {
    std::vector<std::pair<double, std::string_view>> parts;
    for (std::size_t i = 1; i < row.ns_of.size(); ++i) {
      if (row.ns_of[i] > 0) parts.emplace_back(row.ns_of[i], query::wait_word(static_cast<profile::Wait>(i)));
    }
    std::ranges::sort(parts, std::ranges::greater{});
    std::string text;
    for (const auto& [ns, word] : parts) {
      std::string name(word);
      std::ranges::replace(name, '_', ' ');
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent(ns / row.ns));
    }
    return text;
  };
  auto line = [&](const query::WaitRow& row, const std::string& name) {
    return pad_left(duration(row.ns), 11) +
           pad_left(grouped(static_cast<std::uint64_t>(std::llround(row.waits))), 9) + "  " +
           cut(name + ": " + reasons(row), std::max<std::size_t>(terminal.width, 60) - 22, terminal.ascii) +
           "\n";
  };
  std::string out =
      terminal.bold(
          "   off CPU    waits  whose: what it waited for (beside the shares above, not part of them)") +
      "\n";
  for (std::size_t i = 0; i < lane.rows.size() && i < kMost; ++i) {
    out += line(lane.rows[i], escape_line(lane.rows[i].name, terminal.ascii));
  }
  if (lane.rows.size() > kMost) out += fmt::format("{:22}{} more (--json)\n", "", lane.rows.size() - kMost);
  return out + line(lane.total, "all") + "\n";
}

std::string coverage_warning(const query::Coverage& coverage) {
  return fmt::format(
      "Samples stand for {} of {} CPU time only: the rest was not seen, and shares are of what was. Threads "
      "and processes that live less than a period are missed where perf takes the samples of each thread.",
      duration(coverage.sampled_ns), duration(coverage.used_ns));
}

std::string quality_section(const query::Profile& profile, const query::PlanReport& report,
                            const Terminal& terminal) {
  const double total = report.total.weight > 0 ? report.total.weight : 1;
  std::string facts;
  if (!profile.narrowed_to().empty())
    facts = fmt::format("Only {}. ", escape_line(profile.narrowed_to(), terminal.ascii));
  facts +=
      fmt::format("{}; lost {} ({}); location inferred {}; shared by several operators {}.",
                  source_text(report.source, terminal), plural(report.accounting.lost(), "sample", "samples"),
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
  const std::string damage = damage_text(profile);
  if (!damage.empty()) out += terminal.warn(damage);
  if (coverage && coverage->falls_short)
    out += terminal.warn(wrap(coverage_warning(*coverage), terminal.width, 0) + "\n");
  return out;
}

}  // namespace tailor::cli
