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
T load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <typename T>
T acquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace

Result<std::shared_ptr<const ArenaView>> ArenaView::open(std::shared_ptr<const std::byte> memory,
                                                         std::size_t bytes, UniqueFd file) {
  if (bytes < sizeof(tailor_arena_header))
    return invalid(fmt::format("arena of {} bytes has no header", bytes));
  std::shared_ptr<ArenaView> view(new ArenaView);
  view->memory_ = std::move(memory);
  view->file_ = std::move(file);
  const tailor_arena_header& header = view->header();
  std::uint64_t magic = load(header.magic);
  std::uint32_t version = load(header.version);
  view->area_count_ = load(header.area_count);
  view->area_size_ = load(header.area_size);
  view->log_capacity_ = load(header.log_capacity);
  if (magic != TAILOR_ARENA_MAGIC) return invalid("arena without the arena magic");
  if (version != TAILOR_ARENA_VERSION) {
    return invalid(fmt::format("arena of version {}, this daemon reads {}", version, TAILOR_ARENA_VERSION));
  }
  if (view->area_count_ == 0 || view->area_count_ > kMaxAreas) {
    return invalid(fmt::format("arena with {} areas, allowed are 1 to {}", view->area_count_, kMaxAreas));
  }
  if (!std::has_single_bit(view->log_capacity_) || view->log_capacity_ < kMinLogRecords ||
      view->log_capacity_ > kMaxLogRecords) {
    return invalid(fmt::format("arena with logs of {} records, allowed are powers of two from {} to {}",
                               view->log_capacity_, kMinLogRecords, kMaxLogRecords));
  }
  if (view->area_size_ != TAILOR_AREA_LOG_OFFSET + view->log_capacity_ * TAILOR_LOG_RECORD_SIZE) {
    return invalid(fmt::format("arena with areas of {} bytes and logs of {} records", view->area_size_,
                               view->log_capacity_));
  }
  std::size_t needed = sizeof(tailor_arena_header) + std::size_t{view->area_count_} * view->area_size_;
  if (needed > bytes) return invalid(fmt::format("arena of {} bytes that should have {}", bytes, needed));
  return std::shared_ptr<const ArenaView>(std::move(view));
}

SlotState ArenaView::read_slot(std::uint32_t index) const {
  const auto& slot = *reinterpret_cast<const tailor_slot*>(area(index));
  // An area changes hands as: use = 0, new tid, new use. A tid read between two equal uses belongs to that
  // use.
  SlotState state;
  state.use = acquire(slot.use);
  state.tid = acquire(slot.tid);
  state.state = acquire(slot.state);
  state.tag = acquire(slot.tag);
  if (acquire(slot.use) != state.use) state.use = 0;
  return state;
}

const std::uint64_t* ArenaView::tag_address(std::uint32_t index) const {
  return &reinterpret_cast<const tailor_slot*>(area(index))->tag;
}

std::uint64_t ArenaView::log_head(std::uint32_t index) const {
  return acquire(reinterpret_cast<const tailor_log_header*>(area(index) + sizeof(tailor_slot))->head);
}

tailor_log_record ArenaView::read_record(std::uint32_t index, std::uint64_t position) const {
  const std::byte* at =
      area(index) + TAILOR_AREA_LOG_OFFSET + (position & (log_capacity_ - 1)) * TAILOR_LOG_RECORD_SIZE;
  std::uint64_t words[4];
  for (int i = 0; i < 4; ++i) words[i] = acquire(reinterpret_cast<const std::uint64_t*>(at)[i]);
  static_assert(sizeof(words) == sizeof(tailor_log_record));
  return std::bit_cast<tailor_log_record>(words);
}

std::uint32_t ArenaView::next_written(std::uint32_t index) const {
  if (!file_) return index;
  // A log that has something to say has a head, and memory lasts for whole pages.
  const auto head_of = [this](std::uint64_t number) {
    return offset_of(static_cast<std::uint32_t>(number)) + sizeof(tailor_slot);
  };
  const std::uint64_t page = head_of(index) / kPage * kPage;
  const off_t data = ::lseek(file_.get(), static_cast<off_t>(page), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? area_count_ : index;  // ENXIO: nothing but a hole
  const auto at = static_cast<std::uint64_t>(data);
  if (at <= page) return index;
  const std::uint64_t next = (at - head_of(0) + area_size_ - 1) / area_size_;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(next, index, area_count_));
}

bool ArenaView::written(std::uint32_t index, std::uint64_t first, std::uint64_t last) const {
  if (!file_) return true;
  const std::uint64_t log = offset_of(index) + TAILOR_AREA_LOG_OFFSET;
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

std::uint64_t ArenaView::messages_queued() const {
  return acquire(header().messages_queued);
}
std::uint64_t ArenaView::messages_settled() const {
  return acquire(header().messages_settled);
}
std::uint64_t ArenaView::messages_dropped() const {
  return acquire(header().messages_dropped);
}
std::uint64_t ArenaView::messages_taken() const {
  return acquire(header().messages_taken);
}

}  // namespace tailor::registration
