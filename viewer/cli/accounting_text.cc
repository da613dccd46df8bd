#include "viewer/cli/accounting_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "daemon/profile/accounting.h"
#include "daemon/profile/walk_end.h"
#include "daemon/query/sums/terms.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

std::string cpu_name(std::uint32_t cpu) {
  return cpu == profile::kEveryCpu ? "all CPUs" : fmt::format("CPU {}", cpu);
}

// " (CPU 0: 12, CPU 3: 5)", "" without one.
std::string by_cpu(const profile::Accounting& total) {
  std::string out;
  for (const profile::CpuLosses& each : total.cpus) {
    const std::uint64_t lost = each.lost_ring + each.lost_hardware;
    if (lost > 0) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", cpu_name(each.cpu), grouped(lost));
  }
  return out.empty() ? "" : " (" + out + ")";
}

}  // namespace

std::string accounting_text(const query::Accounting& account) {
  const profile::Accounting& total = account.total;
  std::string out = fmt::format(
      "The whole recording: received {} samples = {} attributed + {} unattributed + {} filtered + {} "
      "late{}{}; "
      "lost {}{}; throttled {} times for {}.",
      grouped(total.received), grouped(total.attributed), grouped(total.unattributed),
      grouped(total.filtered), grouped(total.late),
      total.counted_by_other == 0 ? ""
                                  : fmt::format(" + {} whose moments the other event of their source counts",
                                                grouped(total.counted_by_other)),
      total.not_drawn == 0
          ? ""
          : fmt::format(" + {} of executions that are not drawn ({} of CPU time)", grouped(total.not_drawn),
                        duration(static_cast<double>(total.not_drawn_ns))),
      grouped(total.lost_ring + total.lost_hardware), by_cpu(total), grouped(total.throttled),
      duration(static_cast<double>(total.gap_ns)));
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) out += fmt::format(" {} {}.", grouped(count), what);
  };
  add(account.unwritten_samples, "samples are not in the profile");
  add(account.removed_samples, "samples were removed: their user had more than a share of the store's disk");
  add(total.undecoded, "records could not be decoded");
  add(total.cut_bytes, "bytes of rings could not be read");
  add(total.broken_rings, "times a ring contradicted itself");
  add(total.forced, "events were attributed early, for lack of room");
  add(total.waits_abandoned, "waits off the CPU have no known end");
  add(total.log_lost, "activity records were lost");
  add(total.slots_unread, "samples could not read the slot of their thread: its log says for whom it worked");
  if (const std::string stacks = stacks_text(account); !stacks.empty())
    out += fmt::format(" {}. `tailor doctor FILE` says what to do.", stacks);
  add(total.executions_unknown, "attributed samples belong to no execution, because marks were lost");
  add(total.messages_rejected, "messages of agents were refused");
  add(total.agent_dropped, "messages were dropped by agents");
  add(total.agent_unsent, "messages of agents were not sent before their connection ended, or the recording");
  return out;
}

std::string stacks_text(const query::Accounting& account) {
  if (account.share_without_begin() < query::kStacksMatter) return "";
  std::vector<profile::WalkEnd> reasons;
  for (std::size_t i = 0; i < profile::kWalkEnds; ++i) {
    const auto end = static_cast<profile::WalkEnd>(i);
    if (profile::is_lack(end) && account.total.walks[i] > 0) reasons.push_back(end);
  }
  std::ranges::stable_sort(reasons, std::ranges::greater{},
                           [&](profile::WalkEnd end) { return account.share_of(end); });
  std::string out;
  for (const profile::WalkEnd end : reasons) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", query::term(end).text,
                       percent(account.share_of(end)));
  }
  return fmt::format("{} of the samples have a stack without a begin: {}",
                     percent(account.share_without_begin()), out);
}

}  // namespace tailor::cli
