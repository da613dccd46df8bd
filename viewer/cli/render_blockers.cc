#include "viewer/cli/render_blockers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "daemon/profile/blockers.h"
#include "daemon/query/sums/keys.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

class BlockerTree {
 public:
  BlockerTree(const query::Profile& profile, const profile::ExecutionRecord& execution,
              const Terminal& terminal)
      : profile_(profile), begin_(execution.begin), terminal_(terminal) {
    for (const profile::ExecutionRecord& each : profile.executions()) {
      if (each.blockers != nullptr) held_up_.try_emplace(each.id, each);
    }
    way_.push_back(execution.id);
    add(execution, execution.begin, execution.end, 1);
  }
  std::string text() {
    if (left_out_ > 0) out_ += fmt::format("  {} more\n", grouped(left_out_));
    return std::move(out_);
  }

 private:
  // What comes from outside may be a circle, and as deep and as wide as it likes.
  static constexpr std::size_t kDeepest = 8, kMostLines = 50;

  // Those whom it waited for in [from, to].
  void add(const profile::ExecutionRecord& waits, TimeNs from, TimeNs to, std::size_t depth) {
    left_out_ += waits.blockers->left_out;
    for (const profile::Blocker& each : waits.blockers->seen) {
      if (each.from > to || each.to < from) continue;
      if (lines_ >= kMostLines) {
        ++left_out_;
        continue;
      }
      ++lines_;
      out_ += cut(std::string(2 * depth, ' ') + line(each), terminal_.width, terminal_.ascii) + "\n";
      add_above(each, depth);
    }
  }

  void add_above(const profile::Blocker& holder, std::size_t depth) {
    if (holder.execution == ExecutionId{}) return;
    const auto found = held_up_.find(holder.execution);
    const bool is_circle = std::ranges::find(way_, holder.execution) != way_.end();
    if (found == held_up_.end() || is_circle || depth >= kDeepest) return;
    way_.push_back(holder.execution);
    add(found->second, holder.from, holder.to, depth + 1);
    way_.pop_back();
  }

  std::string line(const profile::Blocker& holder) const {
    const auto process = profile_.processes().find(holder.process);
    const std::string name = process == profile_.processes().end() || process->second.comm.empty()
                                 ? ""
                                 : " (" + escape_line(process->second.comm, terminal_.ascii) + ")";
    const std::string work = holder.execution == ExecutionId{}
                                 ? "no execution that is known"
                                 : "execution " + query::hex(holder.execution).substr(0, 12);
    return fmt::format("process {}{}, {}: {} to {}", holder.process.pid, name, work, since(holder.from),
                       since(holder.to));
  }

  // Since the begin of the execution that the tree is of.
  std::string since(TimeNs time) const {
    return duration(std::max(0.0, static_cast<double>(time) - static_cast<double>(begin_)));
  }

  const query::Profile& profile_;
  const TimeNs begin_;
  const Terminal& terminal_;
  std::map<ExecutionId, profile::ExecutionRecord> held_up_;
  std::vector<ExecutionId> way_;  // down to here
  std::size_t lines_ = 0;
  std::uint64_t left_out_ = 0;
  std::string out_;
};

}  // namespace

std::string blockers_section(const query::Profile& profile, const profile::ExecutionRecord& execution,
                             const Terminal& terminal) {
  if (execution.blockers == nullptr) return "";
  return terminal.bold("It waited for locks that others held") + "\n" +
         BlockerTree(profile, execution, terminal).text();
}

}  // namespace tailor::cli
