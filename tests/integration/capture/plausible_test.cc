// Precise events sit on plausible instructions (Tailored Profiling, section 6.3): a load event on an
// instruction that reads memory, any event inside the straight code behind the branch that was taken last.
// Each check has a twin with shifted addresses that must fail it.
#include <Zydis/Zydis.h>
#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/sample_view.h"
#include "daemon/capture/select/event_selection.h"
#include "daemon/formats/perf_data.h"
#include "tests/support/record_encoder.h"

// Instructions of known kinds, each with a label before it. Never run.
asm(R"(
    .text
    .globl plausible_begin, plausible_end
plausible_begin:
load_1: mov (%rdi), %rax
    lea 8(%rdi), %rdi
load_2: add 16(%rsi,%rax,8), %rcx
    imul $3, %rcx, %rcx
load_3: movups (%rdx), %xmm0
    mov %rcx, (%rdx)
load_4: cmp $0, (%r8)
    nopw 0(%rax,%rax,1)
load_5: lock xadd %rax, (%r9)
    xor %eax, %eax
load_6: pop %rbx
    nop
    ret
plausible_end:
)");
extern "C" const char plausible_begin[], plausible_end[], load_1[], load_2[], load_3[], load_4[], load_5[],
    load_6[];

namespace tailor::capture {
namespace {

std::uint64_t address_of(const char* label) {
  return reinterpret_cast<std::uint64_t>(label);
}

// The instruction at `ip` if it lies in the known code.
bool decode_at(std::uint64_t ip, ZydisDecodedInstruction& instruction,
               std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT>& operands) {
  if (ip < address_of(plausible_begin) || ip >= address_of(plausible_end)) return false;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, reinterpret_cast<const void*>(ip),
                                             address_of(plausible_end) - ip, &instruction, operands.data()));
}

// An operand in memory that is read; LEA and NOP have one that is not.
bool reads_memory(std::uint64_t ip) {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!decode_at(ip, instruction, operands) || instruction.meta.category == ZYDIS_CATEGORY_WIDENOP)
    return false;
  for (std::size_t i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ)) {
      return true;
    }
  }
  return false;
}

std::uint64_t next_instruction(std::uint64_t ip) {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  return decode_at(ip, instruction, operands) ? ip + instruction.length : ip;
}

// A PEBS stream of the paper's load event on Ice Lake, constructed from the kernel's record format: no such
// hardware is needed.
std::vector<Event> constructed_loads(std::uint64_t (*shift)(std::uint64_t)) {
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/106";
  pmu.table = "icx";
  pmu.counters = true;
  pmu.max_precise = 3;
  const std::vector<std::string> names = {"paper"};
  auto selection = select_events(names, 1000, pmu);
  if (!selection) {
    ADD_FAILURE() << selection.error().message;
    return {};
  }
  const auto loads = std::ranges::find_if(selection->events, [](const EventSpec& spec) {
    return spec.name.find("ALL_LOADS") != std::string::npos;
  });
  CaptureOptions options;
  options.events = {*loads};
  const perf_event_attr attr = make_attr(*loads, false, options, true);
  EXPECT_TRUE(keeps_large_pebs(attr));
  RingLayout layout;
  layout.formats = {format_of(attr, *loads, 0, PERF_REG_X86_R15)};
  auto decoder = RecordDecoder::create(layout);
  std::vector<std::byte> bytes;
  std::uint64_t time = 1;
  for (const char* load : {load_1, load_2, load_3, load_4, load_5, load_6}) {
    test::SampleFields fields;
    fields.misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP;
    fields.ip = shift(address_of(load));
    fields.pid = fields.tid = 7;
    fields.time = time++;
    fields.address = 0x7000;
    fields.data_source = 1;
    fields.interrupt_registers.resize(static_cast<std::size_t>(std::popcount(attr.sample_regs_intr)));
    test::append(bytes, test::encode_sample(layout.formats[0], fields));
  }
  Batch batch;
  decoder->decode(bytes, batch);
  return batch.events;
}

double plausible_share(const std::vector<Event>& loads) {
  std::size_t plausible = 0;
  for (const Event& load : loads) plausible += reads_memory(load.ip);
  return loads.empty() ? 0 : static_cast<double>(plausible) / static_cast<double>(loads.size());
}

TEST(Plausible, ConstructedLoadEventsSitOnInstructionsThatRead) {
  const auto loads = constructed_loads([](std::uint64_t ip) { return ip; });
  EXPECT_EQ(loads.size(), 6u);
  EXPECT_EQ(plausible_share(loads), 1.0);
}

TEST(Plausible, LoadEventsShiftedByOneInstructionDoNot) {
  const auto loads = constructed_loads(next_instruction);
  EXPECT_EQ(loads.size(), 6u);
  EXPECT_EQ(plausible_share(loads), 0.0);
}

// ---- A real recording of precise cycles with the branches taken before each (LBR). Its machine code is not
// there, but where the processor went is: from the target of the last branch straight on to the sampled
// instruction, or the instruction is that branch.

struct PreciseSample {
  std::uint64_t ip, branch_from, branch_to;
};

std::vector<PreciseSample> precise_samples(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), {});
  auto data = formats::read_perf_data(std::as_bytes(std::span(file)));
  if (!data) {
    ADD_FAILURE() << data.error().message;
    return {};
  }
  EXPECT_EQ(data->events.size(), 1u);
  EXPECT_EQ(data->events[0].attr.precise_ip, 3u);
  EventFormat format;
  format.sample_type = data->events[0].attr.sample_type;
  format.branch_sample_type = data->events[0].attr.branch_sample_type;
  // struct perf_file_header: the data section is the second of offset and size behind three words.
  std::array<std::uint64_t, 7> header{};
  std::memcpy(header.data(), file.data(), sizeof header);
  auto rest = std::as_bytes(std::span(file)).subspan(header[5], header[6]);
  std::vector<PreciseSample> samples;
  perf_event_header record;
  while (rest.size() >= sizeof record) {
    std::memcpy(&record, rest.data(), sizeof record);
    SampleView view;
    if (record.type == PERF_RECORD_SAMPLE &&
        parse_sample(format, rest.subspan(sizeof record, record.size - sizeof record), view) &&
        view.branches.size() >= 2) {
      EXPECT_TRUE(record.misc & PERF_RECORD_MISC_EXACT_IP);
      samples.push_back({view.ip, view.branches[0], view.branches[1]});
    }
    rest = rest.subspan(record.size);
  }
  EXPECT_EQ(samples.size(), data->counts.samples);
  return samples;
}

double plausible_share(const std::vector<PreciseSample>& samples) {
  // Straight code without a taken branch; longer than the longest in the recording, shorter than a page.
  constexpr std::uint64_t kLongest = 256;
  std::size_t plausible = 0;
  for (const PreciseSample& s : samples) plausible += s.ip == s.branch_from || s.ip - s.branch_to < kLongest;
  return samples.empty() ? 0 : static_cast<double>(plausible) / static_cast<double>(samples.size());
}

std::vector<PreciseSample> recorded() {
  const char* directory = std::getenv("TAILOR_PERF_DATA_SAMPLES");
  const auto path = std::filesystem::path(directory == nullptr ? "" : directory) / "perf.data.branch-4.14";
  return std::filesystem::exists(path) ? precise_samples(path) : std::vector<PreciseSample>{};
}

TEST(Plausible, RecordedPreciseCyclesLieBehindTheLastBranch) {
  const auto samples = recorded();
  if (samples.empty()) GTEST_SKIP() << "TAILOR_PERF_DATA_SAMPLES has no perf.data.branch-4.14";
  EXPECT_GE(samples.size(), 10u);
  EXPECT_EQ(plausible_share(samples), 1.0);
}

TEST(Plausible, WithTheAddressesOfOtherSamplesTheyDoNot) {
  auto samples = recorded();
  if (samples.empty()) GTEST_SKIP() << "TAILOR_PERF_DATA_SAMPLES has no perf.data.branch-4.14";
  const std::uint64_t first = samples.front().ip;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) samples[i].ip = samples[i + 1].ip;
  samples.back().ip = first;
  EXPECT_LT(plausible_share(samples), 0.5);
}

}  // namespace
}  // namespace tailor::capture
