#include "daemon/registration/thread_ids.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "daemon/registration/proc_files.h"

namespace tailor::registration {

std::int32_t ThreadIds::outer_of(std::int32_t inner, Clock::time_point now) {
  if (const auto known = by_inner_.find(inner); known != by_inner_.end()) {
    if (now - known->second.seen < kBelieved) return known->second.outer;
    if (is_still(known->second.outer, inner)) {
      known->second.seen = now;
      return known->second.outer;
    }
    inner_by_outer_.erase(known->second.outer);
    by_inner_.erase(known);
  }
  if (now - refilled_ >= kLookEvery) {
    const auto due = (now - refilled_) / kLookEvery;
    looks_left_ = static_cast<int>(std::min<std::int64_t>(kLooksAtOnce, looks_left_ + due));
    refilled_ = now;
  }
  if (looks_left_ == 0) return 0;
  --looks_left_;
  look(now);
  const auto found = by_inner_.find(inner);
  return found == by_inner_.end() ? 0 : found->second.outer;
}

// Numbers are used again.
bool ThreadIds::is_still(std::int32_t outer, std::int32_t inner) {
  ++files_read_;
  auto status = read_small_file(fmt::format("{}/{}/status", tasks_, outer));
  if (!status) return false;
  auto ids = parse_namespace_ids(*status);
  return ids && ids->inner == inner;
}

// Asks the threads that are new since the last time.
void ThreadIds::look(Clock::time_point now) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(tasks_.c_str()), ::closedir);
  ++files_read_;
  if (!directory) return;
  std::map<std::int32_t, std::int32_t> threads;
  while (dirent* entry = ::readdir(directory.get())) {
    std::int32_t outer = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, outer).ptr != end || outer <= 0) continue;
    if (const auto known = inner_by_outer_.find(outer); known != inner_by_outer_.end()) {
      threads.insert(*known);
      continue;
    }
    ++files_read_;
    auto status = read_small_file(fmt::format("{}/{}/status", tasks_, outer));
    if (!status) continue;
    if (auto ids = parse_namespace_ids(*status)) threads[outer] = ids->inner;
  }
  inner_by_outer_ = std::move(threads);
  by_inner_.clear();
  for (const auto& [outer, inner] : inner_by_outer_) by_inner_[inner] = {outer, now};
}

}  // namespace tailor::registration
