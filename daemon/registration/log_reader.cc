#include "daemon/registration/log_reader.h"

#include <algorithm>
#include <utility>

#include "daemon/registration/limits.h"

namespace tailor::registration {

namespace {

bool known(const tailor_log_record& record) {
  return record.kind > TAILOR_LOG_NONE && record.kind <= TAILOR_LOG_THREAD_BEGIN;
}

bool of_thread(const tailor_log_record& record) {
  return known(record) && record.kind != TAILOR_LOG_THREAD_BEGIN;
}

}  // namespace

std::vector<LogRun> LogReader::drain(const ArenaView& arena, std::uint32_t area, std::uint64_t now) {
  // The slot first: its `use` is written after the record that begins it, so that record is below the head.
  SlotState slot = arena.read_slot(area);
  std::uint64_t head = arena.log_head(area);
  const std::uint64_t since = std::exchange(read_at_, now);
  if (head == next_) return {};
  if (head < next_) {
    ++malformed_;
    next_ = head;
    return {};
  }
  if (!written_) {
    const std::uint64_t first = head - next_ > arena.log_capacity() ? head - arena.log_capacity() : next_;
    if (!arena.written(area, first, head)) {
      malformed_ += std::min<std::uint64_t>(head - next_, arena.log_capacity());
      next_ = head;
      return {};
    }
    written_ = head >= arena.log_capacity() && first <= head - arena.log_capacity();
  }
  Window window = copy(arena, area, head);
  const std::uint64_t most = arena.log_capacity() + (now > since ? (now - since) / kTscARecord : 0);
  if (now != 0 && head - next_ > most) {
    ++malformed_;
    window.lost = std::min<std::uint64_t>(window.lost, arena.log_capacity());
  }
  next_ = head;
  if (window.lost > 0) find_owner_of(window, slot);
  return split(std::move(window));
}

LogReader::Window LogReader::copy(const ArenaView& arena, std::uint32_t area, std::uint64_t head) const {
  const std::uint64_t capacity = arena.log_capacity();
  std::uint64_t first = head - next_ > capacity ? head - capacity : next_;
  Window window;
  window.records.reserve(head - first);
  for (std::uint64_t i = first; i != head; ++i) window.records.push_back(arena.read_record(area, i));
  std::uint64_t after = arena.log_head(area);
  std::uint64_t whole = after >= capacity ? after - capacity + 1 : 0;
  if (whole > first) {
    std::uint64_t torn = std::min(whole, head) - first;
    window.records.erase(window.records.begin(), window.records.begin() + static_cast<std::ptrdiff_t>(torn));
    first += torn;
  }
  window.lost = first - next_;
  return window;
}

// Records were lost, and perhaps among them the one that said that the area has a new owner. Uses count up by
// one: the first owner said in the window tells who came before it. If none is said, it is the slot's.
void LogReader::find_owner_of(const Window& window, const SlotState& slot) {
  auto begin = std::find_if(window.records.begin(), window.records.end(),
                            [](const tailor_log_record& r) { return r.kind == TAILOR_LOG_THREAD_BEGIN; });
  std::uint32_t use = begin != window.records.end() ? static_cast<std::uint32_t>(begin->a) - 1 : slot.use;
  if (use == use_) return;
  use_ = use;
  tid_ = use != 0 && use == slot.use ? slot.tid : 0;
}

std::vector<LogRun> LogReader::split(Window window) {
  std::vector<LogRun> runs;
  LogRun run{tid_, use_, window.lost, {}};
  // Nearly always the records are good, and of one thread.
  if (std::ranges::all_of(window.records, of_thread)) {
    run.records = std::move(window.records);
    if (!run.records.empty() || run.lost > 0) runs.push_back(std::move(run));
    return runs;
  }
  auto finish = [&] {
    if (!run.records.empty() || run.lost > 0) runs.push_back(std::move(run));
  };
  for (const tailor_log_record& record : window.records) {
    if (record.kind == TAILOR_LOG_THREAD_BEGIN) {
      finish();
      tid_ = record.id;
      use_ = static_cast<std::uint32_t>(record.a);
      run = LogRun{tid_, use_, 0, {}};
    } else if (known(record)) {
      run.records.push_back(record);
    } else {
      ++malformed_;
    }
  }
  finish();
  return runs;
}

}  // namespace tailor::registration
