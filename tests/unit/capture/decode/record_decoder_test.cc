#include "daemon/capture/decode/record_decoder.h"

#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include <random>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/sample_view.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

using test::RecordBytes;

constexpr std::uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                      PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER;

EventFormat tagged_format() {
  EventFormat format;
  format.source = 3;
  format.sample_type = kSampleType;
  format.regs_user = (1u << PERF_REG_X86_IP) | (1u << PERF_REG_X86_R13) | (1u << PERF_REG_X86_R15);
  format.period = 100'003;
  format.tag_register = PERF_REG_X86_R15;
  return format;
}

test::SampleFields user_sample() {
  test::SampleFields f;
  f.identifier = 11;
  f.ip = 0x401000;
  f.pid = 100;
  f.tid = 101;
  f.time = 5000;
  f.cpu = 7;
  f.user_registers = {0x401000, 13, 0xABCD};
  return f;
}

RecordDecoder decoder_for(const EventFormat& format) {
  RingLayout layout;
  layout.cpu = 1;
  layout.formats = {format};
  auto decoder = RecordDecoder::create(layout);
  EXPECT_TRUE(decoder.ok());
  return std::move(*decoder);
}

Batch decode(RecordDecoder& decoder, std::span<const std::byte> bytes) {
  Batch batch;
  decoder.decode(bytes, batch);
  return batch;
}

TEST(RecordDecoder, UserSampleCarriesTagAndRegisters) {
  auto decoder = decoder_for(tagged_format());
  Batch batch = decode(decoder, test::encode_sample(tagged_format(), user_sample()));
  ASSERT_EQ(batch.events.size(), 1u);
  const Event& event = batch.events[0];
  EXPECT_EQ(event.kind, Kind::kSample);
  EXPECT_EQ(event.mode, profile::Mode::kUser);
  EXPECT_EQ(event.source, 3);
  EXPECT_EQ(event.weight, 100'003u);
  EXPECT_EQ(event.cpu, 7u);
  EXPECT_EQ(event.tid, 101);
  EXPECT_EQ(event.user_ip, 0x401000u);
  EXPECT_TRUE(event.has_tag);
  EXPECT_EQ(event.tag, 0xABCDu);
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_R13), 13u);
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_AX), std::nullopt);
}

TEST(RecordDecoder, KernelSampleKeepsUserIpAndHidesTheTag) {
  auto decoder = decoder_for(tagged_format());
  auto fields = user_sample();
  fields.misc = PERF_RECORD_MISC_KERNEL;
  fields.ip = 0xFFFFFFFF81000000;
  fields.user_registers = {0x401000, ~std::uint64_t{0}, ~std::uint64_t{0}};
  Batch batch = decode(decoder, test::encode_sample(tagged_format(), fields));
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.events[0].mode, profile::Mode::kKernel);
  EXPECT_EQ(batch.events[0].user_ip, 0x401000u);
  EXPECT_FALSE(batch.events[0].has_tag);
}

TEST(RecordDecoder, KernelThreadHasNeitherUserIpNorTag) {
  auto decoder = decoder_for(tagged_format());
  auto fields = user_sample();
  fields.misc = PERF_RECORD_MISC_KERNEL;
  fields.user_abi = PERF_SAMPLE_REGS_ABI_NONE;
  Batch batch = decode(decoder, test::encode_sample(tagged_format(), fields));
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.events[0].user_ip, 0u);
  EXPECT_FALSE(batch.events[0].has_tag);
}

TEST(RecordDecoder, InterruptRegistersOfUserCodeWinOverUserRegisters) {
  auto format = tagged_format();
  format.sample_type |= PERF_SAMPLE_REGS_INTR;
  format.regs_intr = 1u << PERF_REG_X86_R15;
  auto decoder = decoder_for(format);
  auto fields = user_sample();
  fields.interrupt_registers = {0x5151};
  Batch batch = decode(decoder, test::encode_sample(format, fields));
  EXPECT_EQ(batch.events.at(0).tag, 0x5151u);
  fields.misc = PERF_RECORD_MISC_KERNEL;
  batch = decode(decoder, test::encode_sample(format, fields));
  EXPECT_EQ(batch.events.at(0).tag, 0xABCDu);
}

TEST(RecordDecoder, UserChainLeavesOutMarkersKernelAndIp) {
  auto format = tagged_format();
  format.sample_type = (format.sample_type & ~std::uint64_t{PERF_SAMPLE_REGS_USER}) | PERF_SAMPLE_CALLCHAIN;
  auto decoder = decoder_for(format);
  auto fields = user_sample();
  fields.misc = PERF_RECORD_MISC_KERNEL;
  fields.chain = {static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL),
                  0xFFFFFFFF81000000,
                  0xFFFFFFFF81000100,
                  static_cast<std::uint64_t>(PERF_CONTEXT_USER),
                  0x401000,
                  0x402000,
                  0x403000};
  Batch batch = decode(decoder, test::encode_sample(format, fields));
  const Event& event = batch.events.at(0);
  EXPECT_EQ(event.user_ip, 0x401000u);
  auto chain = batch.chain(event);
  EXPECT_EQ(std::vector<std::uint64_t>(chain.begin(), chain.end()),
            (std::vector<std::uint64_t>{0x402000, 0x403000}));
}

// dash kept -128 where a frame pointer led, and what followed became frames of the kernel.
TEST(RecordDecoder, WordsOfTheUsersStackAreNoMarkers) {
  auto format = tagged_format();
  format.sample_type = (format.sample_type & ~std::uint64_t{PERF_SAMPLE_REGS_USER}) | PERF_SAMPLE_CALLCHAIN;
  auto decoder = decoder_for(format);
  auto fields = user_sample();
  for (const auto marker : {PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER, PERF_CONTEXT_HV, PERF_CONTEXT_MAX}) {
    for (const bool behind_ip : {true, false}) {
      const auto word = static_cast<std::uint64_t>(marker);
      fields.chain = {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x401000, 0x402000, 0x403000, 0x404000};
      fields.chain.insert(fields.chain.begin() + (behind_ip ? 2 : 3), word);
      Batch batch = decode(decoder, test::encode_sample(format, fields));
      const Event& event = batch.events.at(0);
      EXPECT_EQ(event.kernel_chain_size, 0u) << marker;
      auto chain = batch.chain(event);
      EXPECT_EQ(std::vector<std::uint64_t>(chain.begin(), chain.end()),
                (std::vector<std::uint64_t>{0x402000, 0x403000, 0x404000}))
          << marker;
    }
  }
}

std::vector<std::byte> all_sideband(const EventFormat& format) {
  std::vector<std::byte> stream;
  for (const auto& record : test::every_sideband_record(format, user_sample(), 900)) {
    test::append(stream, record);
  }
  return stream;
}

TEST(RecordDecoder, EveryRecordTypeBecomesAnEvent) {
  auto decoder = decoder_for(tagged_format());
  Batch batch = decode(decoder, all_sideband(tagged_format()));
  std::vector<Kind> kinds;
  for (const Event& event : batch.events) kinds.push_back(event.kind);
  EXPECT_EQ(kinds,
            (std::vector<Kind>{Kind::kMmap,       Kind::kMmap,     Kind::kLost,       Kind::kComm,
                               Kind::kExit,       Kind::kFork,     Kind::kThrottle,   Kind::kUnthrottle,
                               Kind::kCounts,     Kind::kAux,      Kind::kTraceStart, Kind::kLostSamples,
                               Kind::kSwitchOut,  Kind::kSwitchIn, Kind::kNamespaces, Kind::kKernelSymbol,
                               Kind::kBpfProgram, Kind::kCgroup,   Kind::kTextPoke,   Kind::kHardwareId}));
  EXPECT_EQ(decoder.counts().malformed, 0u);
  EXPECT_EQ(decoder.counts().lost, 42u);
  EXPECT_EQ(decoder.counts().lost_samples, 9u);
  EXPECT_EQ(batch.text_of(batch.events[1]), "/lib/b.so");
  EXPECT_EQ(batch.events[1].data_source, 20u);
  EXPECT_EQ(batch.events[1].pid, 1);
  EXPECT_TRUE(batch.events[1].flag_executable);
  EXPECT_TRUE(batch.events[3].flag_exec);
  EXPECT_EQ(batch.events[5].parent_tid, 4);
  EXPECT_EQ(batch.events[5].time, 901);
  EXPECT_EQ(batch.events[6].data_source, 12u);
  EXPECT_TRUE(batch.events[12].flag_preempted);
  EXPECT_EQ(batch.events[12].tid, 101);
  EXPECT_EQ(batch.events[12].time, 5000);
  EXPECT_EQ(batch.events[13].parent_tid, 9);
  EXPECT_EQ(batch.chain(batch.events[14]).size(), 4u);
  EXPECT_EQ(batch.text_of(batch.events[17]), "/system.slice");
}

// Two recorders saw a mapping, and one asked for build ids: the kernel marks the records of both.
TEST(RecordDecoder, DeviceAndInodeAreNoBuildIdWhateverTheMarkSays) {
  struct File {
    const char* what;
    std::uint32_t major, minor;
    std::uint64_t inode, generation;
  };
  for (const File& file : {File{"/dev/vda", 254, 0, 0x3c520, 0}, File{"/dev/nvme0n1p1", 259, 1, 0x3c520, 0},
                           File{"/dev/sda1", 8, 1, 0x3c520, 0x5eed}, File{"overlay", 0, 40, 0x3c520, 0}}) {
    test::RecordBytes mapped(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
    mapped.u32(7).u32(7).u64(0x1000).u64(0x2000).u64(0);
    mapped.u32(file.major).u32(file.minor).u64(file.inode).u64(file.generation).u32(5).u32(2).text("/bin/a");
    const auto told = read_executable_mapping(mapped.done());
    ASSERT_TRUE(told) << file.what;
    EXPECT_EQ(told->build_id, "") << file.what;
    EXPECT_EQ(told->device_major, file.major);
    EXPECT_EQ(told->device_minor, file.minor);
    EXPECT_EQ(told->inode, file.inode);
    auto decoder = decoder_for(tagged_format());
    const Batch batch = decode(decoder, test::with_sample_id(mapped, tagged_format(), user_sample()));
    EXPECT_EQ(batch.events.at(0).data_source, 0u) << file.what;
    EXPECT_EQ(batch.text_of(batch.events.at(0)), "/bin/a");
  }
}

// A file without a build id: the place of one has what it is told by.
TEST(RecordDecoder, AContentIdIsToldFromABuildId) {
  const auto read = [](const std::string& mark, std::uint16_t misc) {
    test::RecordBytes mapped(PERF_RECORD_MMAP2, misc);
    mapped.u32(7).u32(7).u64(0x1000).u64(0x2000).u64(0);
    mapped.raw(mark + std::string(20, 'a')).u32(5).u32(2).text("/bin/a");
    auto decoder = decoder_for(tagged_format());
    const Batch batch = decode(decoder, test::with_sample_id(mapped, tagged_format(), user_sample()));
    const auto told = read_executable_mapping(mapped.done());
    return std::pair(told ? told->build_id : "-", batch.events.at(0).data_source);
  };
  constexpr std::uint16_t kMarked = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID;
  const std::string mark(reinterpret_cast<const char*>(kContentMark.data()), kContentMark.size());
  std::string digits;
  for (int i = 0; i < 20; ++i) digits += "61";
  EXPECT_EQ(read(mark, kMarked), std::pair("content:" + digits, 20 | kContentIdBit));
  EXPECT_EQ(read(std::string("\x14\0\0\0", 4), kMarked), std::pair(digits, std::uint64_t{20}));
  EXPECT_EQ(read(mark, PERF_RECORD_MISC_USER), std::pair(std::string(), std::uint64_t{0})) << "a device";
  EXPECT_EQ(read(std::string("\x14\0\0x", 4), kMarked), std::pair(std::string(), std::uint64_t{0}));
}

TEST(RecordDecoder, ABuildIdOfAnySizeIsRead) {
  for (const std::size_t size : {8u, 16u, 20u}) {
    test::RecordBytes mapped(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
    mapped.u32(7).u32(7).u64(0x1000).u64(0x2000).u64(0).u32(static_cast<std::uint32_t>(size));
    mapped.raw(std::string(size, 'a') + std::string(20 - size, '\0')).u32(5).u32(2).text("/bin/a");
    const auto told = read_executable_mapping(mapped.done());
    ASSERT_TRUE(told);
    EXPECT_EQ(told->build_id.size(), 2 * size);
    EXPECT_EQ(told->inode, 0u);
    auto decoder = decoder_for(tagged_format());
    EXPECT_EQ(decode(decoder, test::with_sample_id(mapped, tagged_format(), user_sample()))
                  .events.at(0)
                  .data_source,
              size);
  }
}

TEST(RecordDecoder, RecordsOfSeveralEventsAreToldApartById) {
  auto first = tagged_format();
  auto second = tagged_format();
  second.source = 4;
  second.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
  RingLayout layout;
  layout.formats = {first, second};
  layout.ids = {{22, 1}, {11, 0}};
  auto decoder = RecordDecoder::create(layout);
  ASSERT_TRUE(decoder.ok());
  std::vector<std::byte> stream = test::encode_sample(first, user_sample());
  auto fields = user_sample();
  fields.identifier = 22;
  fields.address = 0xD00D;
  test::append(stream, test::encode_sample(second, fields));
  fields.identifier = 33;
  test::append(stream, test::encode_sample(second, fields));
  fields.identifier = 22;
  test::append(stream, test::with_sample_id(RecordBytes(PERF_RECORD_LOST, 0).u64(22).u64(1), second, fields));
  Batch batch = decode(*decoder, stream);
  ASSERT_EQ(batch.events.size(), 3u);
  EXPECT_EQ(batch.events[0].source, 3);
  EXPECT_EQ(batch.events[1].source, 4);
  EXPECT_EQ(batch.events[1].address, 0xD00Du);
  EXPECT_EQ(batch.events[2].source, 4);
  EXPECT_EQ(decoder->counts().unknown_id, 1u);
}

TEST(RecordDecoder, ContradictingLayoutsAreRefused) {
  RingLayout layout;
  EXPECT_FALSE(RecordDecoder::create(layout).ok());
  layout.formats = {tagged_format(), tagged_format()};
  layout.ids = {{1, 2}};
  EXPECT_FALSE(RecordDecoder::create(layout).ok());
  layout.ids = {{1, 1}};
  layout.formats[1].sample_type = PERF_SAMPLE_IP;
  EXPECT_FALSE(RecordDecoder::create(layout).ok());
  layout.formats = {tagged_format()};
  layout.formats[0].sample_type |= std::uint64_t{1} << 40;
  EXPECT_FALSE(RecordDecoder::create(layout).ok());
}

// records = decoded + malformed + unknown_type + unknown_id, whatever the bytes are.
TEST(RecordDecoder, DamagedBytesAreCountedAndNeverCrash) {
  std::mt19937 random(3);
  auto format = tagged_format();
  auto intact = all_sideband(format);
  test::append(intact, test::encode_sample(format, user_sample()));
  for (int round = 0; round < 3000; ++round) {
    auto bytes = intact;
    for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(bytes.size() - random() % 64);
    auto decoder = decoder_for(format);
    Batch batch = decode(decoder, bytes);
    const DecodeCounts& counts = decoder.counts();
    EXPECT_EQ(counts.records, counts.decoded + counts.malformed + counts.unknown_type + counts.unknown_id);
    EXPECT_EQ(counts.decoded, batch.events.size());
    for (const Event& event : batch.events) {
      EXPECT_LE(event.text_offset + event.text_size, batch.text.size());
      EXPECT_LE(event.chain_offset + event.chain_size, batch.words.size());
    }
  }
}

}  // namespace
}  // namespace tailor::capture
