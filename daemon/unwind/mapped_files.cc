#include "daemon/unwind/mapped_files.h"

#include <iterator>
#include <utility>

namespace tailor::unwind {

// Where a copy has no room all are forgotten: a look at /proc may tell them again.
MappedFiles::All& MappedFiles::own() {
  if (held_ != nullptr && held_.use_count() == 1) return held_->all;
  auto fresh = std::make_shared<Held>(*budget_);
  if (held_ != nullptr && held_->all.size() <= budget_->left) {
    fresh->all = held_->all;
    budget_->left -= fresh->all.size();
  }
  held_ = std::move(fresh);
  return held_->all;
}

void MappedFiles::insert(All& all, Mapping mapping) {
  if (all.size() >= kMostOfAProcess || budget_->left == 0) return;
  const std::uint64_t begin = mapping.begin;
  if (all.try_emplace(begin, std::move(mapping)).second) --budget_->left;
}

Mapping* MappedFiles::at(std::uint64_t address) {
  if (held_ == nullptr) return nullptr;
  const auto after = held_->all.upper_bound(address);
  if (after == held_->all.begin()) return nullptr;
  Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

bool MappedFiles::take_out(std::uint64_t begin, std::uint64_t end) {
  if (held_ == nullptr || begin >= end) return false;
  All& all = own();
  auto each = all.lower_bound(begin);
  if (each != all.begin() && std::prev(each)->second.end > begin) --each;
  bool any = false;
  while (each != all.end() && each->first < end) {
    any = true;
    Mapping before = each->second;
    Mapping behind = std::move(each->second);
    each = all.erase(each);
    ++budget_->left;
    if (before.begin < begin) {
      before.end = begin;
      insert(all, std::move(before));
    }
    if (behind.end <= end) continue;
    behind.file_offset += end - behind.begin;
    behind.begin = end;
    insert(all, std::move(behind));
    break;
  }
  return any;
}

void MappedFiles::map(Mapping mapping) {
  if (mapping.begin >= mapping.end) return;
  const Mapping* known = at(mapping.begin);
  const bool same = known != nullptr && known->end >= mapping.end && known->file == mapping.file &&
                    mapping.file_offset - known->file_offset == mapping.begin - known->begin;
  if (same) return;  // another protection
  take_out(mapping.begin, mapping.end);
  insert(own(), std::move(mapping));
}

void MappedFiles::replace(std::vector<Mapping> all) {
  clear();
  All& into = own();
  for (Mapping& each : all) insert(into, std::move(each));
}

}  // namespace tailor::unwind
