// The process that a record belongs to, and the account that counts what became of the record.
#pragma once

#include <cstdint>
#include <utility>

#include "daemon/pipeline/process_table.h"
#include "daemon/profile/accounting.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// One thread. The table must outlive it.
class Accounts {
 public:
  explicit Accounts(ProcessTable& table) : table_(table) {}

  // Rings hold samples of processes that nobody asked for, from now on.
  void expect_others() { of_others_too_ = true; }
  bool expects_others() const { return of_others_too_; }
  // The process that had the number at that time. NULL: none of ours.
  ProcessEntry* owner(std::int32_t pid, TimeNs time) {
    ProcessEntry* entry = table_.at(pid, time);
    if (entry != nullptr || of_others_too_) return entry;
    return table_.add_unnamed(pid, kTimeMin);
  }

  // The account of a process, or of what belongs to none (NULL), to be changed.
  profile::Accounting& of(ProcessEntry* entry) {
    if (entry == nullptr) {
      nobodys_changed_ = true;
      return nobodys_;
    }
    entry->accounting_changed = true;
    return entry->accounting;
  }
  // What belongs to no process.
  const profile::Accounting& nobodys() const { return nobodys_; }
  // Of all processes, forgotten ones too, and of what belongs to none.
  profile::Accounting total() const {
    profile::Accounting total = nobodys_;
    profile::add(total, table_.forgotten());
    table_.for_each([&](const ProcessEntry& entry) { profile::add(total, entry.accounting); });
    return total;
  }
  // Sets a count of what belongs to no process.
  void note(std::uint64_t profile::Accounting::* field, std::uint64_t now) {
    if (std::exchange(nobodys_.*field, now) != now) nobodys_changed_ = true;
  }
  // Whether that changed since the last call.
  bool take_nobodys_change() { return std::exchange(nobodys_changed_, false); }

 private:
  ProcessTable& table_;
  profile::Accounting nobodys_;
  bool nobodys_changed_ = false;
  bool of_others_too_ = false;
};

}  // namespace tailor::pipeline
