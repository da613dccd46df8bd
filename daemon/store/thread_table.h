// The table of threads in a sample or activity block.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "proto/base/ids.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

using ThreadTable = google::protobuf::RepeatedPtrField<v1::ThreadRef>;

class ThreadTableWriter {
 public:
  explicit ThreadTableWriter(ThreadTable& table) : table_(table) {}

  // The index of the thread, which is added if new.
  std::uint32_t of(ProcessId process, std::int32_t tid) {
    Recent& recent = recent_[static_cast<std::uint32_t>(tid) % recent_.size()];
    if (recent.known && recent.tid == tid && recent.process == process) return recent.number;
    const auto [it, added] =
        numbers_.try_emplace({process, tid}, static_cast<std::uint32_t>(numbers_.size()));
    if (added) {
      v1::ThreadRef& ref = *table_.Add();
      ref.mutable_process()->set_pid(process.pid);
      ref.mutable_process()->set_start(process.start);
      ref.set_tid(tid);
    }
    recent = {true, it->second, tid, process};
    return it->second;
  }

 private:
  struct Recent {
    bool known = false;
    std::uint32_t number = 0;
    std::int32_t tid = 0;
    ProcessId process;
  };
  std::array<Recent, 64> recent_;  // few threads come again and again
  ThreadTable& table_;
  std::map<std::pair<ProcessId, std::int32_t>, std::uint32_t> numbers_;
};

// False where there is no such index.
inline bool thread_at(const ThreadTable& table, std::uint32_t index, ProcessId& process, std::int32_t& tid) {
  if (index >= static_cast<std::uint32_t>(table.size())) return false;
  const v1::ThreadRef& ref = table.Get(static_cast<int>(index));
  process = {ref.process().pid(), ref.process().start()};
  tid = ref.tid();
  return true;
}

}  // namespace tailor::store
