#include "daemon/registration/log_drain.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "tests/unit/registration/fake_arena.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

constexpr std::uint32_t kAreas = 64, kCapacity = 1024;

// An arena as agents make it: memory that was never written takes no page.
class SparseArena {
 public:
  SparseArena() : blank_(kAreas, kCapacity), file_(::memfd_create("arena", MFD_CLOEXEC)) {
    [[maybe_unused]] const int sized = ::ftruncate(file_.get(), static_cast<off_t>(blank_.bytes()));
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, blank_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    std::memcpy(memory_, blank_.memory().get(), sizeof(tailor_arena_header));
  }
  ~SparseArena() { ::munmap(memory_, blank_.bytes()); }

  std::shared_ptr<const ArenaView> view() {
    return *ArenaView::open({std::shared_ptr<void>(), memory_}, blank_.bytes(), UniqueFd(::dup(file_.get())));
  }
  void append(std::uint32_t area, std::uint16_t kind, std::uint32_t id, std::uint64_t a = 0) {
    std::byte* at = memory_ + sizeof(tailor_arena_header) +
                    std::size_t{area} * (TAILOR_AREA_LOG_OFFSET + kCapacity * TAILOR_LOG_RECORD_SIZE);
    auto& head = reinterpret_cast<tailor_log_header*>(at + sizeof(tailor_slot))->head;
    tailor_log_record record{};
    record.kind = kind;
    record.id = id;
    record.a = a;
    std::memcpy(at + TAILOR_AREA_LOG_OFFSET + head % kCapacity * TAILOR_LOG_RECORD_SIZE, &record,
                sizeof record);
    __atomic_store_n(&head, head + 1, __ATOMIC_RELEASE);
  }

 private:
  FakeArena blank_;
  UniqueFd file_;
  std::byte* memory_;
};

// Threads that write while their logs are read.
class BusyThreads : public RecordingSink {
 public:
  explicit BusyThreads(SparseArena& arena) : arena_(arena) {}
  void on_activity(ActivityRecords event) override {
    RecordingSink::on_activity(std::move(event));
    for (std::uint32_t area : {0u, 3u}) arena_.append(area, TAILOR_LOG_ITERATION, 1);
  }

 private:
  SparseArena& arena_;
};

TEST(LogDrain, ACallLooksAtEachLogOnce) {
  SparseArena arena;
  Counters counters;
  auto process = PeerProcess::open("/proc", {::getpid(), ::getuid(), ::getgid()});
  ASSERT_TRUE(process) << process.error().message;
  LogDrain drain(*process, counters);
  drain.add_arena(0, arena.view(), {}, 0);
  for (std::uint32_t area : {0u, 3u}) {
    arena.append(area, TAILOR_LOG_THREAD_BEGIN, static_cast<std::uint32_t>(::gettid()), 1);
    arena.append(area, TAILOR_LOG_ITERATION, 1);
  }
  BusyThreads sink(arena);
  for (std::size_t call = 1; call <= 3; ++call) {
    drain.begin_pass();
    drain.drain(sink, 1'000'000, kAreas);
    EXPECT_TRUE(drain.pass_done());
    EXPECT_EQ(sink.activity.size(), 2 * call) << "areas that were never written make no second round";
  }
}

// However few areas a call may look at, all have their turn.
TEST(LogDrain, CallsGoOnWhereTheLastOneStopped) {
  SparseArena arena;
  Counters counters;
  auto process = PeerProcess::open("/proc", {::getpid(), ::getuid(), ::getgid()});
  ASSERT_TRUE(process) << process.error().message;
  LogDrain drain(*process, counters);
  drain.add_arena(0, arena.view(), {}, 0);
  for (std::uint32_t area = 0; area < kAreas; area += 9) arena.append(area, TAILOR_LOG_ITERATION, area + 1);
  RecordingSink sink;
  for (int calls = 0; calls < 100 && !drain.pass_done(); ++calls) drain.drain(sink, 1'000'000, 1);
  EXPECT_TRUE(drain.pass_done());
  std::set<std::uint32_t> seen;
  for (const ActivityRecords& run : sink.activity) seen.insert(run.records.at(0).id);
  EXPECT_EQ(seen.size(), (kAreas + 8) / 9);
  EXPECT_EQ(sink.activity.size(), seen.size());
}

}  // namespace
}  // namespace tailor::registration::testing
