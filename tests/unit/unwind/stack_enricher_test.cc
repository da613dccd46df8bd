// Samples of this process itself, as the BPF program takes them of a thread that told of its objects.
#include "daemon/unwind/stack_enricher.h"

#include <asm/perf_regs.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "daemon/capture/decode/record_events.h"
#include "daemon/capture/decode/sample_view.h"
#include "tailor/thread_area.h"
#include "tests/support/record_encoder.h"
#include "tests/unit/unwind/later_work.h"
#include "tests/unit/unwind/object_methods.h"
#include "tests/unit/unwind/own_stack.h"

namespace tailor::unwind {
namespace {

constexpr std::uint64_t kKey = 0xFEDCBA9876543210, kId = 5;
constexpr std::uint64_t kFirstOfState = 0xE000;  // and the number of its place
constexpr std::uint32_t kSlotOfPlan = 3, kGeneration = 2;
constexpr std::uint64_t kRegistersTaken =
    capture::kGeneralRegisters | capture::register_bit(capture::kSlotPlace) | capture::kStatePlaces;

test::OwnStack taken;

[[gnu::noinline]] void call_back() {
  test::take_own_stack(taken);
}

std::uint64_t tag_of(std::uint32_t upper, std::uint32_t lower) {
  return tailor_tag_make(kKey, kSlotOfPlan, kGeneration, upper, lower);
}

class Record {
 public:
  explicit Record(std::uint64_t slot, const std::vector<std::uint64_t>& objects) {
    put(0);
    put(kId);
    put(taken.frame.value[kReturnAddress]);
    put(std::uint64_t{static_cast<std::uint32_t>(::getpid())} * 0x100000001);
    put(77);  // time
    put(std::uint64_t{offsetof(Object, method)} << 32 | (4 + objects.size() * 8));
    for (std::uint64_t object : objects) put(object);
    put(PERF_SAMPLE_REGS_ABI_64);
    for (std::uint64_t rest = kRegistersTaken; rest != 0; rest &= rest - 1)
      put(value_of(static_cast<unsigned>(std::countr_zero(rest)), slot));
    put(taken.bytes.size());
    bytes.insert(bytes.end(), taken.bytes.begin(), taken.bytes.end());
    put(taken.bytes.size());
    const perf_event_header header{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
                                   static_cast<std::uint16_t>(bytes.size())};
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  std::vector<std::byte> bytes;

 private:
  void put(std::uint64_t word) {
    const auto* from = reinterpret_cast<const std::byte*>(&word);
    bytes.insert(bytes.end(), from, from + sizeof word);
  }
  static std::uint64_t value_of(unsigned perf_register, std::uint64_t slot) {
    // AX BX CX DX SI DI BP SP IP, then R8 to R15
    constexpr std::array kDwarf = {0, 3, 2, 1, 4, 5, 6, 7, 16};
    if (perf_register == capture::kSlotPlace) return slot;
    if (capture::kStatePlaces & capture::register_bit(perf_register)) return kFirstOfState + perf_register;
    if (perf_register < kDwarf.size())
      return taken.frame.value[static_cast<std::size_t>(kDwarf[perf_register])];
    return taken.frame.value[perf_register - PERF_REG_X86_R8 + 8];
  }
};

// This process registers, and its samples come by ring 0. Gives what becomes of the ring's layout.
capture::RingLayout meet_this_process(StackEnricher& enricher) {
  registration::PeerConnected peer;
  peer.process.pid = ::getpid();
  peer.process.start = 1;
  peer.hello.set_tag_key(kKey);
  peer.hello.set_tag_strategy(v1::TAGS_MEMORY_SLOT);
  enricher.connected(peer);
  capture::EventFormat format;
  format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                       PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  format.regs_user = kRegistersTaken;
  capture::RingLayout layout;
  layout.formats = {format};
  layout.ids = {{kId, 0}};
  return enricher.layout(layout);
}

// Stacks need all registers to be unwound, and operands of instructions need them behind that. Each recording
// says whether it is for operands: the next one of the same process may not be.
TEST(EnrichedLayout, KeepsRegistersWhereTheyAreForOperands) {
  StackEnricher enricher{os::real()};
  capture::EventFormat format;
  format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  format.regs_user = kRegistersTaken;
  capture::RingLayout layout;
  layout.formats = {format};
  layout.ids = {{kId, 0}};
  const auto general = [&](bool operands) {
    layout.operands = operands;
    return enricher.layout(layout).formats.at(0).regs_user & capture::kGeneralRegisters;
  };
  EXPECT_NE(general(false), capture::kGeneralRegisters);
  EXPECT_EQ(general(true), capture::kGeneralRegisters);
  EXPECT_NE(general(false), capture::kGeneralRegisters);
}

class EnrichedObjects : public testing::Test {
 protected:
  EnrichedObjects() {
    enriched = meet_this_process(enricher);
    child.method = keeps_object;
    calls_method(&parent, call_back, &child);
  }

  // The tag that a sample has afterwards, and where it was found.
  std::pair<std::uint64_t, capture::TagFrom> tag_after(std::uint64_t slot,
                                                       const std::vector<std::uint64_t>& objects) {
    auto ends = enricher.counts().ends;
    const capture::RingChunk chunk = enricher.chunk({0, Record(slot, objects).bytes});
    std::uint64_t id = 0;
    std::memcpy(&id, chunk.bytes.data() + sizeof(perf_event_header), sizeof id);
    const auto known = std::ranges::find(enriched.ids, id, &capture::EventIdEntry::id);
    const capture::EventFormat& format = enriched.formats.at(known->format);
    EXPECT_FALSE(format.sample_type & (PERF_SAMPLE_RAW | PERF_SAMPLE_STACK_USER)) << "nobody else sees these";
    capture::SampleView sample;
    EXPECT_TRUE(
        capture::parse_sample(format, std::span(chunk.bytes).subspan(sizeof(perf_event_header)), sample));
    EXPECT_EQ(sample.user_registers.mask & capture::kGeneralRegisters & ~capture::kTagRegisters,
              capture::register_bit(PERF_REG_X86_IP));
    // The tag, R13 and R15, the state, and how the walk ended.
    const auto& values = sample.user_registers.values;
    const std::size_t state = values.size() - 4;
    EXPECT_TRUE(sample.user_registers.mask & capture::register_bit(capture::kWalkEndPlace));
    ++ends.at(values[state + 3] - 1);
    EXPECT_EQ(enricher.counts().ends, ends) << "the sample says what is counted";
    EXPECT_EQ(walk_end_of(format, chunk), values[state + 3]);
    EXPECT_EQ(sample.user_registers.mask & capture::kStatePlaces, capture::kStatePlaces);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(values[state + i], kFirstOfState + capture::kExecutionPlace + i);
    return {values[state - 3], format.tag_from};
  }
  // Of the event that becomes of the record.
  static std::uint64_t walk_end_of(const capture::EventFormat& format, const capture::RingChunk& chunk) {
    capture::Batch batch;
    const capture::RecordView record{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
                                     std::span(chunk.bytes).subspan(sizeof(perf_event_header))};
    EXPECT_EQ(capture::decode_sample(format, 0, record, batch), capture::RecordOutcome::kDecoded);
    EXPECT_EQ(batch.events.at(0).regs_mask & capture::register_bit(capture::kWalkEndPlace), 0u)
        << "no register of the program";
    return batch.events.at(0).walk_end;
  }
  static std::uint64_t address(const Object& object) { return reinterpret_cast<std::uint64_t>(&object); }

  StackEnricher enricher{os::real()};
  capture::RingLayout enriched;
  Object parent, child;
};

TEST_F(EnrichedObjects, TheInnermostOneTakesThePlaceOfAComponent) {
  const auto [tag, from] = tag_after(tag_of(0, 9), {address(parent), address(child)});
  EXPECT_EQ(tag, tag_of(2, 0));
  EXPECT_EQ(from, capture::TagFrom::kUnwound);
  EXPECT_EQ(enricher.counts().objects.told, 1u);
}

TEST_F(EnrichedObjects, ATagThatNamesAnOperatorStays) {
  EXPECT_EQ(tag_after(tag_of(2, 0), {address(parent), address(child)}).first, tag_of(2, 0));
  EXPECT_EQ(tag_after(tag_of(1, 0), {address(parent), address(child)}).first, tag_of(1, 0));
  EXPECT_EQ(enricher.counts().objects.same, 1u);
  EXPECT_EQ(enricher.counts().objects.other, 1u);
}

TEST_F(EnrichedObjects, UnlessNoTagEverNamesTheObject) {
  const auto [tag, from] = tag_after(tag_of(1, 0), {address(parent), address(child) | TAILOR_OBJECT_HIDDEN});
  EXPECT_EQ(tag, tag_of(2, 0));
  EXPECT_EQ(from, capture::TagFrom::kUnwound);
}

TEST_F(EnrichedObjects, WithoutAPlanOrAnObjectNothingChanges) {
  EXPECT_EQ(tag_after(0, {address(parent)}).first, 0u);
  EXPECT_EQ(tag_after(0x1234, {address(parent)}).first, 0x1234u) << "that is no tag";
  const auto [tag, from] = tag_after(tag_of(0, 9), {0x1000});
  EXPECT_EQ(tag, tag_of(0, 9));
  EXPECT_EQ(from, capture::TagFrom::kRegister);
  EXPECT_EQ(enricher.counts().objects.told, 0u);
}

TEST_F(EnrichedObjects, ASampleWithoutAStackHasNoEnd) {
  std::vector<std::byte> bytes = Record(tag_of(0, 9), {address(child)}).bytes;
  std::fill(bytes.end() - 8, bytes.end(), std::byte{0});  // that much of its stack could be copied
  const capture::RingChunk chunk = enricher.chunk({0, bytes});
  capture::SampleView sample;
  ASSERT_TRUE(capture::parse_sample(enriched.formats.at(0),
                                    std::span(chunk.bytes).subspan(sizeof(perf_event_header)), sample));
  EXPECT_EQ(sample.user_registers.values[sample.user_registers.values.size() - 1], 0u);
  EXPECT_EQ(walk_end_of(enriched.formats.at(0), chunk), 0u);
  EXPECT_EQ(enricher.counts().stacks, 0u);
}

TEST(StackEnricher, WhoMapsAJitdumpIsToldOnce) {
  StackEnricher enricher{os::real()};
  meet_this_process(enricher);
  std::vector<std::byte> bytes;
  const auto map = [&](std::uint32_t pid, const char* path) {
    test::RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    record.u32(pid).u32(pid).u64(0x1000).u64(0x1000).u64(0).u32(8).u32(1).u64(42).u64(0);
    record.u32(PROT_READ | PROT_EXEC).u32(MAP_PRIVATE).text(path);
    const std::vector<std::byte> done = record.done();
    bytes.insert(bytes.end(), done.begin(), done.end());
  };
  map(70, "/tmp/jit-70.dump");
  map(71, "/usr/lib/libjit-71.so");
  map(72, "/tmp/jit-.dump/libx.so");
  map(73, "jit-7.dump");
  enricher.chunk({0, bytes});
  EXPECT_EQ(enricher.take_dumpers(), (std::vector<std::int32_t>{70, 73}));
  EXPECT_EQ(enricher.take_dumpers(), std::vector<std::int32_t>());
}

// Files are read elsewhere. The samples of a chunk wait for them, for a while.
class SlowlyReadFiles : public testing::Test {
 protected:
  SlowlyReadFiles() {
    meet_this_process(slow);
    meet_this_process(fast);
    child.method = keeps_object;
    calls_method(&parent, call_back, &child);
    const Record sample(tag_of(0, 9), {reinterpret_cast<std::uint64_t>(&child)});
    for (int i = 0; i < 3; ++i) bytes.insert(bytes.end(), sample.bytes.begin(), sample.bytes.end());
  }

  test::LaterWork later;
  StackEnricher slow{os::real(), later.run()}, fast{os::real()};
  PatienceLimits limits{.of_a_message = 3600'000'000'000, .of_a_user = 3600'000'000'000, .here = 0};
  Object parent, child;
  std::vector<std::byte> bytes;
};

TEST_F(SlowlyReadFiles, AreWaitedFor) {
  Patience patience(os::real(), limits);
  patience.begin_step(os::real().now());
  slow.begin({0, bytes});
  auto finished = slow.finish(&patience);
  int pauses = 0;
  for (; !finished && pauses < 30; ++pauses) {
    EXPECT_TRUE(slow.is_busy());
    EXPECT_EQ(slow.counts().stacks, 0u) << "all three need the same files";
    EXPECT_GE(later.waiting(), 1u);
    later.do_all();
    finished = slow.finish(&patience);
  }
  EXPECT_GE(pauses, 4) << "for the map, files and the arguments of functions";
  ASSERT_TRUE(finished);
  EXPECT_FALSE(slow.is_busy());
  EXPECT_EQ(finished->bytes, fast.chunk({0, bytes}).bytes) << "as if the files had been there at once";
  EXPECT_EQ(slow.counts().stacks, 3u);
  EXPECT_EQ(slow.counts().unread, 0u);
}

// The twin: nobody waits, and what is missing is counted.
TEST_F(SlowlyReadFiles, AreMissedWithoutPatience) {
  limits.of_a_message = 0;
  Patience patience(os::real(), limits);
  patience.begin_step(os::real().now());
  slow.begin({0, bytes});
  const auto finished = slow.finish(&patience);
  ASSERT_TRUE(finished);
  EXPECT_EQ(slow.counts().stacks, 3u);
  EXPECT_EQ(slow.counts().unread, 3u);
  EXPECT_EQ(slow.counts().objects.told, 0u);
  EXPECT_NE(finished->bytes, fast.chunk({0, bytes}).bytes);
  EXPECT_EQ(fast.counts().objects.told, 3u);
  for (int i = 0; i < 30 && later.waiting() > 0; ++i) {
    later.do_all();
    slow.chunk({0, bytes});
  }
  const std::uint64_t missed = slow.counts().unread;
  EXPECT_EQ(slow.chunk({0, bytes}).bytes, fast.chunk({0, bytes}).bytes) << "later samples have all";
  EXPECT_EQ(slow.counts().unread, missed);
}

}  // namespace
}  // namespace tailor::unwind
