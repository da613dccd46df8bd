#include "daemon/capture/host/ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace tailor::capture {
namespace {

constexpr std::size_t kPage = 4096;

// Memory shaped like the mapping of a perf event, with the kernel's side of it.
class RingMemory {
 public:
  explicit RingMemory(std::size_t data_pages) : size_((1 + data_pages) * kPage) {
    memory_ = static_cast<std::byte*>(std::aligned_alloc(kPage, size_));
    std::memset(memory_, 0, size_);
  }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  ~RingMemory() { std::free(memory_); }

  std::span<std::byte> span() { return {memory_, size_}; }
  perf_event_mmap_page* page() { return reinterpret_cast<perf_event_mmap_page*>(memory_); }
  void write(const std::vector<std::byte>& bytes) {
    for (std::byte b : bytes) memory_[kPage + page()->data_head++ % (size_ - kPage)] = b;
  }

 private:
  std::size_t size_;
  std::byte* memory_;
};

TEST(Ring, RefusesMemoryOfAnotherShape) {
  RingMemory three(3);
  EXPECT_FALSE(Ring::over(three.span()).ok());
  EXPECT_FALSE(Ring::over(three.span().first(kPage)).ok());
  EXPECT_TRUE(Ring::over(three.span().first(3 * kPage)).ok());
}

TEST(Ring, GivesBackWhatWasWrittenAcrossManyWraps) {
  RingMemory memory(1);
  auto ring = Ring::over(memory.span());
  ASSERT_TRUE(ring.ok());
  std::mt19937 random(5);
  std::vector<std::byte> written, read;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> record((1 + random() % 60) * 8);
    for (auto& b : record) b = static_cast<std::byte>(random());
    memory.write(record);
    written.insert(written.end(), record.begin(), record.end());
    if (round % 5 == 0) ring->drain(read);
  }
  ring->drain(read);
  EXPECT_EQ(read, written);
  EXPECT_EQ(ring->drain(read), 0u);
  EXPECT_EQ(memory.page()->data_tail, memory.page()->data_head);
  EXPECT_EQ(ring->broken(), 0u);
}

TEST(Ring, AHeadThatCannotBeIsCountedAndSkipped) {
  RingMemory memory(1);
  auto ring = Ring::over(memory.span());
  ASSERT_TRUE(ring.ok());
  memory.page()->data_head = 3 * kPage;
  std::vector<std::byte> out;
  EXPECT_EQ(ring->drain(out), 0u);
  EXPECT_EQ(ring->broken(), 1u);
  memory.write(std::vector<std::byte>(16, std::byte{1}));
  EXPECT_EQ(ring->drain(out), 16u);
}

}  // namespace
}  // namespace tailor::capture
