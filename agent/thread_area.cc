#include "agent/thread_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "agent/sealed_memfd.h"
#include "agent/slot_state.h"
#include "agent/tsc.h"

namespace tailor::agent {

namespace {

void store(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

std::uint32_t area_bytes(std::uint32_t log_capacity) {
  return TAILOR_AREA_LOG_OFFSET + log_capacity * TAILOR_LOG_RECORD_SIZE;
}

}  // namespace

void append_record(ThreadArea& area, std::uint16_t kind, std::uint32_t id, std::uint64_t a,
                   std::uint64_t b) noexcept {
  tailor_log_record& record = area.records[area.head & area.mask];
  store(record.tsc, tsc());
  // kind, reserved and id are one word: four stores a record, none of them torn.
  using Word [[gnu::may_alias]] = std::uint64_t;
  static_assert(offsetof(tailor_log_record, kind) == 8 && offsetof(tailor_log_record, id) == 12);
  __atomic_store_n(reinterpret_cast<Word*>(&record.kind), static_cast<std::uint64_t>(id) << 32 | kind,
                   __ATOMIC_RELAXED);
  store(record.a, a);
  store(record.b, b);
  std::atomic_ref(area.log->head).store(++area.head, std::memory_order_release);
  // The next record must not be begun before this head is stored: the reader relies on that order to know
  // which records may be torn. The processor keeps it (x86 stores are ordered); the compiler must too.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

Arena* Arena::create(std::uint32_t index, std::uint32_t log_capacity) noexcept {
  Arena* arena = new (std::nothrow) Arena;
  if (!arena) {
    errno = ENOMEM;
    return nullptr;
  }
  if (!arena->fit(log_capacity) || !arena->map(nullptr)) {
    int error = errno;
    delete arena;
    errno = error;
    return nullptr;
  }
  char* base = static_cast<char*>(arena->memory_) + sizeof(tailor_arena_header);
  for (std::uint32_t i = 0; i < arena->area_count_; ++i, base += area_bytes(arena->log_capacity_)) {
    ThreadArea& area = arena->areas_[i];
    area.slot = reinterpret_cast<tailor_slot*>(base);
    area.log = reinterpret_cast<tailor_log_header*>(base + sizeof(tailor_slot));
    area.records = reinterpret_cast<tailor_log_record*>(base + TAILOR_AREA_LOG_OFFSET);
    area.mask = arena->log_capacity_ - 1;
    area.arena = index;
    area.index = i;
  }
  return arena;
}

bool Arena::fit(std::uint32_t log_capacity) noexcept {
  const std::uint64_t limit = file_size_limit();
  auto bytes = [&] {
    return sizeof(tailor_arena_header) + std::size_t{area_count_} * area_bytes(log_capacity_);
  };
  log_capacity_ = log_capacity;
  area_count_ = kAreas;
  while (bytes() > limit && log_capacity_ > kLeastLogRecords) log_capacity_ /= 2;
  while (bytes() > limit && area_count_ > 1) area_count_ /= 2;
  bytes_ = bytes();
  if (bytes_ <= limit) return true;
  errno = EFBIG;
  return false;
}

bool Arena::map(void* where) noexcept {
  int fd = create_memfd("tailor-arena");
  if (!fd_.take(fd)) return false;
  fd = fd_.checked();
  if (!set_file_size(fd, bytes_)) return false;
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return false;
  void* memory = ::mmap(where, bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE | (where ? MAP_FIXED : 0), fd, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  header()->magic = TAILOR_ARENA_MAGIC;
  header()->version = TAILOR_ARENA_VERSION;
  header()->area_count = area_count_;
  header()->area_size = area_bytes(log_capacity_);
  header()->log_capacity = log_capacity_;
  return true;
}

Arena::~Arena() {
  if (memory_) ::munmap(memory_, bytes_);
}

ThreadArea* Arena::claim(std::uint32_t tid) noexcept {
  std::uint32_t start = hint_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < area_count_; ++i) {
    ThreadArea& area = areas_[(start + i) % area_count_];
    if (area.busy.load(std::memory_order_relaxed) || area.busy.exchange(true, std::memory_order_acquire))
      continue;
    begin_use(area, tid);
    return &area;
  }
  return nullptr;
}

void Arena::begin_use(ThreadArea& area, std::uint32_t tid) noexcept {
  area.use += 1;
  // The log first, and `use` last: a reader that finds the new `use` finds the record and the tid too.
  append_record(area, TAILOR_LOG_THREAD_BEGIN, tid, area.use, 0);
  area.marks.clear();
  say_state(*area.slot, area.marks.now());
  store(area.slot->execution, 0);
  store(area.slot->tag, 0);
  store(area.slot->waits_at, 0);
  store(area.slot->objects_at, 0);
  store(area.slot->anchor_at, 0);
  std::atomic_ref(area.slot->use).store(0, std::memory_order_release);
  std::atomic_ref(area.slot->tid).store(tid, std::memory_order_release);
  std::atomic_ref(area.slot->use).store(area.use, std::memory_order_release);
  std::atomic_ref(area.slot->state).store(TAILOR_AREA_LIVE, std::memory_order_release);
}

void Arena::give_back(ThreadArea& area) noexcept {
  area.marks.clear();
  say_state(*area.slot, area.marks.now());
  store(area.slot->execution, 0);
  store(area.slot->tag, 0);
  store(area.slot->waits_at, 0);
  store(area.slot->objects_at, 0);
  store(area.slot->anchor_at, 0);
  std::atomic_ref(area.slot->state).store(TAILOR_AREA_CLOSED, std::memory_order_release);
  area.busy.store(false, std::memory_order_release);
}

void Arena::make_private_after_fork() noexcept {
  // Where the kernel refuses, the old mapping stays: a tag of the child may then show in its parent's slot,
  // which is better than a child that dies of a store.
  [[maybe_unused]] void* same = ::mmap(memory_, bytes_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  fd_.close();
}

bool Arena::renew_after_fork(const ThreadArea* mine) noexcept {
  fd_.close();
  for (ThreadArea& area : areas_) {
    area.head = 0;
    area.use = 0;
    area.busy.store(&area == mine, std::memory_order_relaxed);
  }
  if (bytes_ <= file_size_limit() && map(memory_)) return true;
  make_private_after_fork();
  return false;
}

ArenaSet::~ArenaSet() {
  for (auto& arena : arenas_) delete arena.load();
}

ThreadArea* ArenaSet::claim(std::uint32_t tid) noexcept {
  for (std::uint32_t i = 0; i < kMaxArenas; ++i) {
    Arena* arena = at(i);
    if (!arena) arena = grow(i);
    if (!arena) return nullptr;
    if (ThreadArea* area = arena->claim(tid)) return area;
  }
  return nullptr;
}

Arena* ArenaSet::grow(std::uint32_t index) noexcept {
  Arena* made = Arena::create(index, log_capacity_);
  Arena* there = nullptr;
  if (made && arenas_[index].compare_exchange_strong(there, made, std::memory_order_acq_rel)) return made;
  // Another thread was faster, or memory is short.
  delete made;
  return at(index);
}

std::uint64_t ArenaSet::log_records() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < kMaxArenas && at(i); ++i) {
    for (std::uint32_t k = 0; k < at(i)->area_count(); ++k) {
      sum += std::atomic_ref(at(i)->area(k).log->head).load(std::memory_order_relaxed);
    }
  }
  return sum;
}

void ArenaSet::make_private_after_fork() noexcept {
  for (std::uint32_t i = 0; i < kMaxArenas && at(i); ++i) at(i)->make_private_after_fork();
}

bool ArenaSet::renew_after_fork(const ThreadArea* mine) noexcept {
  bool renewed = true;
  for (std::uint32_t i = 0; i < kMaxArenas && at(i); ++i) renewed = at(i)->renew_after_fork(mine) && renewed;
  return renewed;
}

}  // namespace tailor::agent
