#include "viewer/cli/held_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "daemon/profile/blockers.h"
#include "daemon/query/sums/keys.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// Looks come some times a second, and reach the store a moment later.
constexpr std::uint64_t kNowNs = 5'000'000'000;

// Times of a file may be any numbers.
std::uint64_t ns_between(TimeNs from, TimeNs to) {
  return to <= from ? 0 : static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

std::string short_id(const ExecutionId& id) {
  return query::hex(id).substr(0, 12);
}

class WaitTree {
 public:
  WaitTree(const std::vector<store::ExecutionRow>& rows, std::uint64_t now_wall_ns, const Terminal& terminal)
      : terminal_(terminal) {
    for (const store::ExecutionRow& row : rows) {
      if (may_be_held_up(row)) take(row, now_wall_ns);
    }
    for (auto& [holder, waits] : waits_)
      std::ranges::stable_sort(waits, std::ranges::greater{}, &Wait::waited_ns);
  }

  std::vector<std::string> lines() {
    if (waits_.empty()) return {};
    lines_ = {"", "waiting for locks"};
    const std::vector<Holder> holders = longest_first();
    for (const Holder& each : holders) {
      if (!waiting_.contains(each)) add_holder(each);
    }
    // Of a circle each holder waits itself.
    for (const Holder& each : holders) {
      if (!shown_.contains(each)) add_holder(each);
    }
    if (left_out_ > 0) lines_.push_back(fmt::format("  {} more", grouped(left_out_)));
    return std::move(lines_);
  }

 private:
  static constexpr std::size_t kMostLines = 12, kDeepest = 8;

  // A process, and the execution for which it works; all 0: for none that is known.
  struct Holder {
    ProcessId process;
    ExecutionId execution;
    auto operator<=>(const Holder&) const = default;
  };
  struct Wait {
    const store::ExecutionRow* row = nullptr;
    std::uint64_t waited_ns = 0;
  };

  static Holder self_of(const store::ExecutionRow& row) { return {row.record.process, row.record.id}; }

  void take(const store::ExecutionRow& row, std::uint64_t now_wall_ns) {
    const profile::ExecutionRecord& record = row.record;
    const std::uint64_t runs_ns = now_wall_ns > row.wall_begin_ns ? now_wall_ns - row.wall_begin_ns : 0;
    for (const profile::Blocker& each : record.blockers->seen) {
      const std::uint64_t seen_ns = ns_between(record.begin, each.to);
      if (seen_ns < runs_ns && runs_ns - seen_ns > kNowNs) continue;
      waits_[{each.process, each.execution}].push_back({&row, ns_between(each.from, each.to)});
      waiting_.insert(self_of(row));
    }
  }

  std::vector<Holder> longest_first() const {
    std::vector<Holder> out;
    for (const auto& [holder, waits] : waits_) out.push_back(holder);
    std::ranges::stable_sort(out, std::ranges::greater{},
                             [&](const Holder& each) { return waits_.at(each).front().waited_ns; });
    return out;
  }

  void add_holder(const Holder& holder) {
    add_line(0, fmt::format("process {}, {}", holder.process.pid,
                            holder.execution == ExecutionId{} ? "which runs no execution that is known"
                                                              : "execution " + short_id(holder.execution)));
    add_waits(holder, 1);
  }

  // Each holder is shown once with those that wait for it, so the lines are no more than the waits and their
  // holders.
  void add_waits(const Holder& holder, std::size_t depth) {
    const auto found = waits_.find(holder);
    if (found == waits_.end() || !shown_.insert(holder).second) return;
    for (const Wait& each : found->second) {
      add_line(depth, fmt::format("{}, {}: waits for {}", short_id(each.row->record.id),
                                  escape_line(each.row->plan_name, terminal_.ascii),
                                  duration(static_cast<double>(each.waited_ns))));
      add_waits(self_of(*each.row), depth + 1);
    }
  }

  void add_line(std::size_t depth, const std::string& text) {
    if (lines_.size() >= kMostLines) {
      ++left_out_;
      return;
    }
    const std::string indent(2 + 2 * std::min(depth, kDeepest), ' ');
    lines_.push_back(cut(indent + text, terminal_.width, terminal_.ascii));
  }

  const Terminal& terminal_;
  std::map<Holder, std::vector<Wait>> waits_;  // by who is waited for
  std::set<Holder> waiting_, shown_;
  std::vector<std::string> lines_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

bool may_be_held_up(const store::ExecutionRow& row) {
  return row.record.end == kTimeMax && row.record.blockers != nullptr;
}

std::vector<std::string> held_up_lines(const std::vector<store::ExecutionRow>& rows,
                                       std::uint64_t now_wall_ns, const Terminal& terminal) {
  return WaitTree(rows, now_wall_ns, terminal).lines();
}

}  // namespace tailor::cli
