#include "daemon/registration/arena_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "daemon/registration/limits.h"

namespace tailor::registration {

namespace {

constexpr std::uint64_t kPage = 4096;

template <typename T>
T Load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <typename T>
T Acquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace

Result<std::shared_ptr<const ArenaView>> ArenaView::Open(std::shared_ptr<const std::byte> memory,
                                                         std::size_t bytes, UniqueFd file) {
  if (bytes < sizeof(tailor_arena_header))
    return Error{fmt::format("arena of {} bytes has no header", bytes)};
  std::shared_ptr<ArenaView> view(new ArenaView);
  view->memory_ = std::move(memory);
  view->file_ = std::move(file);
  const tailor_arena_header& header = view->header();
  std::uint64_t magic = Load(header.magic);
  std::uint32_t version = Load(header.version);
  view->area_count_ = Load(header.area_count);
  view->area_size_ = Load(header.area_size);
  view->log_capacity_ = Load(header.log_capacity);
  if (magic != TAILOR_ARENA_MAGIC) return Error{"arena without the arena magic"};
  if (version != TAILOR_ARENA_VERSION) {
    return Error{fmt::format("arena of version {}, this daemon reads {}", version, TAILOR_ARENA_VERSION)};
  }
  if (view->area_count_ == 0 || view->area_count_ > kMaxAreas) {
    return Error{fmt::format("arena with {} areas, allowed are 1 to {}", view->area_count_, kMaxAreas)};
  }
  if (!std::has_single_bit(view->log_capacity_) || view->log_capacity_ < kMinLogRecords ||
      view->log_capacity_ > kMaxLogRecords) {
    return Error{fmt::format("arena with logs of {} records, allowed are powers of two from {} to {}",
                             view->log_capacity_, kMinLogRecords, kMaxLogRecords)};
  }
  if (view->area_size_ != TAILOR_AREA_LOG_OFFSET + view->log_capacity_ * TAILOR_LOG_RECORD_SIZE) {
    return Error{fmt::format("arena with areas of {} bytes and logs of {} records", view->area_size_,
                             view->log_capacity_)};
  }
  std::size_t needed = sizeof(tailor_arena_header) + std::size_t{view->area_count_} * view->area_size_;
  if (needed > bytes) return Error{fmt::format("arena of {} bytes that should have {}", bytes, needed)};
  return std::shared_ptr<const ArenaView>(std::move(view));
}

SlotState ArenaView::ReadSlot(std::uint32_t area) const {
  const auto& slot = *reinterpret_cast<const tailor_slot*>(Area(area));
  // An area changes hands as: use = 0, new tid, new use. A tid read between two equal uses belongs to that
  // use.
  SlotState state;
  state.use = Acquire(slot.use);
  state.tid = Acquire(slot.tid);
  state.state = Acquire(slot.state);
  state.tag = Acquire(slot.tag);
  if (Acquire(slot.use) != state.use) state.use = 0;
  return state;
}

const std::uint64_t* ArenaView::TagAddress(std::uint32_t area) const {
  return &reinterpret_cast<const tailor_slot*>(Area(area))->tag;
}

std::uint64_t ArenaView::LogHead(std::uint32_t area) const {
  return Acquire(reinterpret_cast<const tailor_log_header*>(Area(area) + sizeof(tailor_slot))->head);
}

tailor_log_record ArenaView::ReadRecord(std::uint32_t area, std::uint64_t position) const {
  const std::byte* at =
      Area(area) + TAILOR_AREA_LOG_OFFSET + (position & (log_capacity_ - 1)) * TAILOR_LOG_RECORD_SIZE;
  std::uint64_t words[4];
  for (int i = 0; i < 4; ++i) words[i] = Acquire(reinterpret_cast<const std::uint64_t*>(at)[i]);
  static_assert(sizeof(words) == sizeof(tailor_log_record));
  return std::bit_cast<tailor_log_record>(words);
}

std::uint32_t ArenaView::NextWritten(std::uint32_t area) const {
  if (!file_) return area;
  // A log that has something to say has a head, and memory lasts for whole pages.
  const auto head_of = [this](std::uint64_t number) {
    return OffsetOf(static_cast<std::uint32_t>(number)) + sizeof(tailor_slot);
  };
  const std::uint64_t page = head_of(area) / kPage * kPage;
  const off_t data = ::lseek(file_.get(), static_cast<off_t>(page), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? area_count_ : area;  // ENXIO: nothing but a hole
  const auto at = static_cast<std::uint64_t>(data);
  if (at <= page) return area;
  const std::uint64_t next = (at - head_of(0) + area_size_ - 1) / area_size_;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(next, area, area_count_));
}

bool ArenaView::Written(std::uint32_t area, std::uint64_t first, std::uint64_t last) const {
  if (!file_) return true;
  const std::uint64_t log = OffsetOf(area) + TAILOR_AREA_LOG_OFFSET;
  std::uint64_t asked = 0;  // the page that was asked about last, from 1 on
  for (std::uint64_t i = first; i < last; ++i) {
    const std::uint64_t at = log + (i & (log_capacity_ - 1)) * TAILOR_LOG_RECORD_SIZE;
    const std::uint64_t page = at / kPage;
    if (asked == page + 1) continue;
    asked = page + 1;
    if (::lseek(file_.get(), static_cast<off_t>(page * kPage), SEEK_DATA) != static_cast<off_t>(page * kPage))
      return false;
  }
  return true;
}

std::uint64_t ArenaView::MessagesQueued() const {
  return Acquire(header().messages_queued);
}
std::uint64_t ArenaView::MessagesSettled() const {
  return Acquire(header().messages_settled);
}
std::uint64_t ArenaView::MessagesDropped() const {
  return Acquire(header().messages_dropped);
}

}  // namespace tailor::registration
