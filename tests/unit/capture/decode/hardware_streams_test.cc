// Samples of PEBS and IBS as the kernel writes them into a ring. No machine with these PMUs was at hand:
// CONSTRUCTED word by word from perf_output_sample() in kernel/events/core.c, the order of
// linux/perf_event.h, and what arch/x86/events/intel/ds.c and arch/x86/events/amd/ibs.c fill in. The
// attributes are those this program opens.
#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/select/event_selection.h"

namespace tailor::capture {
namespace {

HostPmu sapphire_rapids() {
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/143";
  pmu.table = "spr";
  pmu.counters = true;
  pmu.max_precise = 3;
  return pmu;
}

HostPmu zen4() {
  HostPmu pmu;
  pmu.cpu = "AuthenticAMD 25/17";
  pmu.table = "amd64_fam19h_zen4";
  pmu.counters = true;
  pmu.ibs = IbsPmu{11, true};
  return pmu;
}

struct Stream {
  EventFormat format;
  std::vector<std::byte> bytes;

  Stream(const std::string& preset, const HostPmu& pmu, bool all_registers) {
    const std::vector<std::string> names = {preset};
    auto selection = select_events(names, 1000, pmu);
    EXPECT_TRUE(selection.ok()) << (selection.ok() ? "" : selection.error().message);
    CaptureOptions options;
    options.events = selection->events;
    options.all_registers = all_registers;
    const perf_event_attr attr = make_attr(options.events[0], false, options, true);
    format = format_of(attr, options.events[0], 0, PERF_REG_X86_R15);
  }
  void record(std::uint16_t misc, const std::vector<std::uint64_t>& words) {
    perf_event_header header{PERF_RECORD_SAMPLE, misc,
                             static_cast<std::uint16_t>(sizeof(perf_event_header) + 8 * words.size())};
    const auto head = std::as_bytes(std::span(&header, 1));
    const auto body = std::as_bytes(std::span(words));
    bytes.insert(bytes.end(), head.begin(), head.end());
    bytes.insert(bytes.end(), body.begin(), body.end());
  }
  Batch decode() const {
    RingLayout layout;
    layout.formats = {format};
    auto decoder = RecordDecoder::create(layout);
    EXPECT_TRUE(decoder.ok());
    Batch batch;
    decoder->decode(bytes, batch);
    EXPECT_EQ(decoder->counts().malformed, 0u);
    EXPECT_EQ(decoder->counts().cut_bytes, 0u);
    return batch;
  }
};

// A load that missed to RAM: level number RAM, hit, TLB hit in L1.
std::uint64_t ram_load() {
  perf_mem_data_src source{};
  source.mem_op = PERF_MEM_OP_LOAD;
  source.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM;
  source.mem_lvl_num = PERF_MEM_LVLNUM_RAM;
  source.mem_dtlb = PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1;
  return source.val;
}

// PEBS of the memory preset: IP, TID, TIME, ADDR, WEIGHT, DATA_SRC, REGS_INTR. One drain of three records: a
// load, one in a store-forwarding hit without latency, and one whose address the hardware left at 0.
TEST(HardwareStreams, ConstructedPebsLoadsCarryAddressSourceLatencyAndRegisters) {
  Stream stream("memory", sapphire_rapids(), false);
  ASSERT_EQ(stream.format.sample_type,
            std::uint64_t{PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                          PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR});
  ASSERT_EQ(std::popcount(stream.format.regs_intr), 2);  // r13, r15
  const std::uint64_t thread = 101ull << 32 | 100;
  constexpr std::uint16_t kExact = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP;
  stream.record(kExact, {0x7f0000001234, thread, 1'000'000, 0x7e0000000040, 387, ram_load(),
                         PERF_SAMPLE_REGS_ABI_64, 0x1313, 0x1515});
  stream.record(kExact, {0x7f0000001240, thread, 1'000'900, 0x7e0000000048, 0, 0x68100142,
                         PERF_SAMPLE_REGS_ABI_64, 0x1313, 0x1516});
  stream.record(kExact,
                {0x7f0000001250, thread, 1'001'100, 0, 7, 0, PERF_SAMPLE_REGS_ABI_64, 0x1313, 0x1517});
  const Batch batch = stream.decode();
  ASSERT_EQ(batch.events.size(), 3u);
  const Event& load = batch.events[0];
  EXPECT_EQ(load.ip, 0x7f0000001234u);
  EXPECT_EQ(load.pid, 100);
  EXPECT_EQ(load.tid, 101);
  EXPECT_EQ(load.time, 1'000'000);
  EXPECT_TRUE(load.has_address);
  EXPECT_EQ(load.address, 0x7e0000000040u);
  EXPECT_EQ(load.latency, 387u);
  EXPECT_EQ(load.data_source, ram_load());
  EXPECT_TRUE(load.has_tag);
  EXPECT_EQ(load.tag, 0x1515u);
  EXPECT_EQ(load.mode, profile::Mode::kUser);
  EXPECT_EQ(batch.events[1].address, 0x7e0000000048u);
  EXPECT_EQ(batch.events[1].data_source, 0x68100142u);
  EXPECT_EQ(batch.events[1].tag, 0x1516u);
  EXPECT_EQ(batch.events[2].address, 0u);
  EXPECT_EQ(batch.events[2].latency, 7u);
}

// The cost preset with all general registers, as --memory asks: AX .. IP and R8 .. R15 in the order of their
// bits.
TEST(HardwareStreams, ConstructedPebsCyclesCarryAllRegisters) {
  Stream stream("cost", sapphire_rapids(), true);
  ASSERT_FALSE(stream.format.sample_type & PERF_SAMPLE_ADDR);
  const auto count = static_cast<unsigned>(std::popcount(stream.format.regs_intr));
  ASSERT_EQ(count, 17u);
  std::vector<std::uint64_t> words = {0x401000, 8ull << 32 | 7, 55, PERF_SAMPLE_REGS_ABI_64};
  for (unsigned i = 0; i < count; ++i) words.push_back(0x100 + i);
  stream.record(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, words);
  const Batch batch = stream.decode();
  ASSERT_EQ(batch.events.size(), 1u);
  const Event& event = batch.events[0];
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_AX), 0x100u);
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_SP), 0x107u);
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_IP), 0x108u);
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_R8), 0x109u);
  EXPECT_EQ(batch.reg(event, PERF_REG_X86_R15), 0x110u);
  EXPECT_EQ(event.ip, 0x401000u);  // the record's own, not that of the registers
  EXPECT_EQ(event.tag, 0x110u);
}

// IBS of the memory preset: the address of the operation and its latency come from MSRs, the registers are
// those of the interrupt, taken as user registers; in kernel mode they hide the tag.
TEST(HardwareStreams, ConstructedIbsOperationsCarryAddressSourceAndLatency) {
  Stream stream("memory", zen4(), false);
  ASSERT_EQ(stream.format.sample_type,
            std::uint64_t{PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                          PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_USER});
  const std::uint64_t thread = 101ull << 32 | 100;
  const std::uint64_t hidden = ~std::uint64_t{0};
  stream.record(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP,
                {0x7f0000001234, thread, 500, 0x7e0000000040, PERF_SAMPLE_REGS_ABI_64, 0x7f0000001240, 0x1313,
                 0x1515, 212, ram_load()});
  stream.record(PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP,
                {0xffffffff81000010, thread, 600, 0xffff888000001000, PERF_SAMPLE_REGS_ABI_64, 0x7f0000001300,
                 hidden, hidden, 31, ram_load()});
  const Batch batch = stream.decode();
  ASSERT_EQ(batch.events.size(), 2u);
  const Event& user = batch.events[0];
  EXPECT_EQ(user.ip, 0x7f0000001234u);  // precise; that of the interrupt is later
  EXPECT_EQ(batch.reg(user, PERF_REG_X86_IP), 0x7f0000001240u);
  EXPECT_EQ(user.address, 0x7e0000000040u);
  EXPECT_EQ(user.latency, 212u);
  EXPECT_EQ(user.tag, 0x1515u);
  const Event& kernel = batch.events[1];
  EXPECT_EQ(kernel.mode, profile::Mode::kKernel);
  EXPECT_EQ(kernel.user_ip, 0x7f0000001300u);
  EXPECT_FALSE(kernel.has_tag);
}

// WEIGHT_STRUCT packs three latencies into the word; the first is that of the access.
TEST(HardwareStreams, ConstructedWeightStructGivesTheAccessLatency) {
  Stream stream("memory", sapphire_rapids(), false);
  stream.format.sample_type =
      (stream.format.sample_type & ~std::uint64_t{PERF_SAMPLE_WEIGHT}) | PERF_SAMPLE_WEIGHT_STRUCT;
  perf_sample_weight weight{};
  weight.var1_dw = 411;
  weight.var2_w = 9;
  weight.var3_w = 2;
  stream.record(PERF_RECORD_MISC_USER,
                {0x401000, 1, 2, 0x5000, weight.full, ram_load(), PERF_SAMPLE_REGS_ABI_64, 13, 15});
  const Batch batch = stream.decode();
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.events[0].latency, 411u);
}

}  // namespace
}  // namespace tailor::capture
