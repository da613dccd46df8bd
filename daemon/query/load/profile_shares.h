// How much of each process a profile keeps, where all of them together said more than fits.
//
// A profile is first read as if all of it fitted. If it does not, it is read once to measure, and once more
// to keep. A process may keep what the blocks pay for that hold nothing of others. The rest of the budget
// is divided evenly: a process that needs less than an even part leaves the rest to the others. So what one
// process says takes nothing from those that say little, whatever came first.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "daemon/store/memory_budget.h"
#include "proto/base/ids.h"

namespace tailor::query {

// What a process says that is kept in maps and strings.
enum class Said : std::uint8_t { kNames, kPlans, kCode, kTexts, kMarks };

// What of a process a profile does not hold, for lack of room.
struct LeftOut {
  std::uint64_t names = 0, plans = 0, code = 0;
  std::uint64_t texts = 0;     // labels and errors of executions: different ones
  std::uint64_t marks = 0;     // of threads
  bool at_least = false;       // there were too many to count each once
  std::uint64_t may_keep = 0;  // bytes
};

// Measures first: want(), paid(); then divide(); then may_keep() for the same again. One thread.
class ProfileShares {
 public:
  // One thing that was said. A later word on the same thing takes its place.
  struct Item {
    ProcessId process;
    Said kind;
    std::uint32_t table = 0;  // of a kind with several tables
    std::uint64_t id = 0;
    auto operator<=>(const Item&) const = default;
  };
  // What remembering an item takes, about.
  static constexpr std::size_t kItem = 96;

  void want(const Item& item, std::size_t bytes) {
    Process& process = of(item.process);
    process.wanted += bytes;
    if (const auto known = items_.find(item); known != items_.end()) {
      process.wanted -= known->second;
      known->second = bytes;
    } else if (items_.size() < kMostItems) {
      items_.emplace(item, bytes);
    }
  }

  // The same of what nothing takes the place of.
  void want_more(ProcessId process, std::size_t bytes) { of(process).wanted += bytes; }

  // A block of this many bytes held nothing of others.
  void paid(ProcessId process, std::uint64_t stored) { of(process).stored += stored; }

  // All was measured, in this many bytes of blocks.
  void divide(std::uint64_t read) {
    std::uint64_t left = store::memory_budget(read);
    std::vector<Process*> poorest_first;
    for (auto& [id, process] : processes_) {
      process.may_keep = std::min(process.wanted, store::memory_budget(process.stored) - kBase);
      left -= std::min(left, process.may_keep);
      poorest_first.push_back(&process);
    }
    std::ranges::sort(poorest_first, {}, [](const Process* each) { return each->wanted - each->may_keep; });
    std::uint64_t others = poorest_first.size();
    for (Process* each : poorest_first) {
      const std::uint64_t more = std::min(each->wanted - each->may_keep, left / others--);
      each->may_keep += more;
      left -= more;
    }
    begin();
  }

  // Before everything is said again.
  void begin() {
    items_.clear();
    refused_.clear();
    left_out_.clear();
    kept_ = 0;
    for (auto& [id, process] : processes_) {
      process.kept = 0;
      process.marks_end = false;
    }
  }

  // Whether there is room. If so, it counts as kept; if not, as left out.
  bool may_keep(const Item& item, std::size_t bytes) {
    Process& process = of(item.process);
    const auto known = items_.find(item);
    const std::size_t before = known == items_.end() ? 0 : known->second;
    if (!take(item.process, process, before, bytes)) {
      leave_out(item);
      return false;
    }
    items_[item] = bytes;
    return true;
  }

  // The same of one mark. Behind the first that is left out no other is kept: what it changed is not known.
  bool may_keep_mark(ProcessId id, std::size_t bytes) {
    Process& process = of(id);
    if (!process.marks_end && take(id, process, 0, bytes)) return true;
    process.marks_end = true;
    ++left_out_[key_of(id)].marks;
    return false;
  }

  std::uint64_t kept() const { return kept_; }  // bytes, of all
  const std::map<ProcessId, LeftOut>& left_out() const { return left_out_; }

 private:
  // Records of few bytes could name very many: more than that count together, or as if all were new.
  static constexpr std::size_t kMostProcesses = std::size_t{1} << 17;
  static constexpr std::size_t kMostItems = std::size_t{1} << 19;
  static constexpr std::uint64_t kBase = store::memory_budget(0);

  struct Process {
    std::uint64_t wanted = 0, stored = 0, may_keep = 0, kept = 0;
    bool marks_end = false;
  };

  bool take(ProcessId id, Process& process, std::size_t before, std::size_t bytes) {
    if (process.kept - before + bytes > process.may_keep) {
      left_out_[key_of(id)].may_keep = process.may_keep;
      return false;
    }
    process.kept += bytes - before;
    kept_ += bytes - before;
    return true;
  }

  Process& of(ProcessId id) { return processes_[key_of(id)]; }
  ProcessId key_of(ProcessId id) const {
    return processes_.size() < kMostProcesses || processes_.contains(id) ? id : ProcessId{};
  }

  // A thing that is said again is one thing.
  void leave_out(const Item& item) {
    LeftOut& left = left_out_[key_of(item.process)];
    if (refused_.size() >= kMostItems) {
      left.at_least = true;
    } else if (refused_.insert(item).second) {
      ++count(left, item.kind);
    }
  }

  static std::uint64_t& count(LeftOut& of, Said kind) {
    switch (kind) {
      case Said::kNames:
        return of.names;
      case Said::kPlans:
        return of.plans;
      case Said::kCode:
        return of.code;
      case Said::kTexts:
        return of.texts;
      case Said::kMarks:
        break;
    }
    return of.marks;
  }

  std::map<ProcessId, Process> processes_;
  std::map<Item, std::size_t> items_;
  std::set<Item> refused_;
  std::map<ProcessId, LeftOut> left_out_;
  std::uint64_t kept_ = 0;
};

}  // namespace tailor::query
