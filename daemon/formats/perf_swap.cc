#include "daemon/formats/perf_swap.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "daemon/capture/decode/sample_view.h"

namespace tailor::formats {
namespace {

// Nothing in a record of at most 64 KiB has as many members.
constexpr std::uint64_t kTooMany = 1u << 16;
constexpr std::size_t kBuildIdRoom = 24;
// Numbers one behind the other, by their sizes in bytes. `b`: the room of a build id; `w`: words up to the
// end.
constexpr std::string_view kAttr = "448888844888844842244w";
constexpr std::size_t kAttrFlags = 40;  // their offset
constexpr unsigned kPreciseIp = 15;     // the only flag of two bits

// Goes over numbers from the begin of bytes; one that does not fit is the end.
class Numbers {
 public:
  // `change`: false only looks.
  Numbers(std::span<std::byte> bytes, bool change) : rest_(bytes), change_(change) {}

  template <typename T>
  T next() {
    T value{};
    if (!fits(sizeof value)) return value;
    std::memcpy(&value, rest_.data(), sizeof value);
    value = from_order(ByteOrder::kOther, value);
    if (change_) std::memcpy(rest_.data(), &value, sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  void words(std::uint64_t count) {
    if (!fits(std::min(count, kTooMany) * sizeof(std::uint64_t))) return;
    for (std::uint64_t i = 0; i < count; ++i) next<std::uint64_t>();
  }
  void words_to_the_end() { words(rest_.size() / sizeof(std::uint64_t)); }
  void pair() {
    next<std::uint32_t>();
    next<std::uint32_t>();
  }
  void leave(std::uint64_t bytes) {
    if (fits(bytes)) rest_ = rest_.subspan(static_cast<std::size_t>(bytes));
  }
  void by_sizes(std::string_view sizes) {
    for (const char size : sizes) {
      if (size == '2') next<std::uint16_t>();
      if (size == '4') next<std::uint32_t>();
      if (size == '8') next<std::uint64_t>();
      if (size == 'b') leave(kBuildIdRoom);
      if (size == 'w') words_to_the_end();
    }
  }
  bool all_taken() const { return ok_ && rest_.empty(); }

 private:
  bool fits(std::uint64_t bytes) {
    if (bytes <= rest_.size()) return true;
    ok_ = false;
    rest_ = {};
    return false;
  }

  std::span<std::byte> rest_;
  bool change_, ok_ = true;
};

// What stands behind them is text or bytes.
std::string_view sizes_of(const perf_event_header& header) {
  switch (header.type) {
    case PERF_RECORD_MMAP:
      return "44888";
    case PERF_RECORD_MMAP2:
      return header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? "44888b44" : "44888448844";
    case PERF_RECORD_COMM:
      return "44";
    case PERF_RECORD_EXIT:
    case PERF_RECORD_FORK:
      return "44448";
    case PERF_RECORD_READ:
    case PERF_RECORD_ITRACE_START:
    case PERF_RECORD_SWITCH_CPU_WIDE:
    case PERF_RECORD_NAMESPACES:
      return "44w";
    case PERF_RECORD_KSYMBOL:
      return "8422";
    case PERF_RECORD_BPF_EVENT:
      return "224";
    case PERF_RECORD_CGROUP:
      return "8";
    case PERF_RECORD_TEXT_POKE:
      return "822";
    default:
      return "w";
  }
}

void take_trailer(std::uint64_t type, Numbers& numbers) {
  if (type & PERF_SAMPLE_TID) numbers.pair();
  numbers.words(perf_fields(type, PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID));
  if (type & PERF_SAMPLE_CPU) numbers.pair();
  numbers.words_to_the_end();
}

void take_head(std::uint64_t type, Numbers& numbers) {
  numbers.words(perf_fields(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP));
  if (type & PERF_SAMPLE_TID) numbers.pair();
  numbers.words(
      perf_fields(type, PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID));
  if (type & PERF_SAMPLE_CPU) numbers.pair();
  numbers.words(perf_fields(type, PERF_SAMPLE_PERIOD));
}

void take_counts(std::uint64_t read_format, Numbers& numbers) {
  const bool several = read_format & PERF_FORMAT_GROUP;
  const std::uint64_t members = several ? std::min(numbers.next<std::uint64_t>(), kTooMany) : 1;
  numbers.words(members * (1 + perf_fields(read_format, PERF_FORMAT_ID | PERF_FORMAT_LOST)) +
                perf_fields(read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
}

// The flags of a branch are bit fields too. Nobody reads them.
void take_branches(const perf_event_attr& attr, bool index_follows_zero, Numbers& numbers) {
  const std::uint64_t count = std::min(numbers.next<std::uint64_t>(), kTooMany);
  const bool has_index = attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
  if (has_index && (count != 0 || index_follows_zero)) numbers.next<std::uint64_t>();
  numbers.words(count * (attr.branch_sample_type & capture::kBranchCounters ? 4 : 3));
}

void take_registers(std::uint64_t mask, Numbers& numbers) {
  const auto abi = numbers.next<std::uint64_t>();
  if (abi != PERF_SAMPLE_REGS_ABI_NONE) numbers.words(perf_fields(mask, ~std::uint64_t{0}));
}

void take_stack(Numbers& numbers) {
  const auto size = numbers.next<std::uint64_t>();
  if (size == 0) return;
  numbers.leave(size);
  numbers.next<std::uint64_t>();  // how much of it is used
}

// In the order of struct perf_event_header's PERF_RECORD_SAMPLE (perf_event.h).
void take_sample(const perf_event_attr& attr, bool index_follows_zero, Numbers& numbers) {
  const std::uint64_t type = attr.sample_type;
  take_head(type, numbers);
  if (type & PERF_SAMPLE_READ) take_counts(attr.read_format, numbers);
  if (type & PERF_SAMPLE_CALLCHAIN) numbers.words(numbers.next<std::uint64_t>());
  if (type & PERF_SAMPLE_RAW) numbers.leave(numbers.next<std::uint32_t>());
  if (type & PERF_SAMPLE_BRANCH_STACK) take_branches(attr, index_follows_zero, numbers);
  if (type & PERF_SAMPLE_REGS_USER) take_registers(attr.sample_regs_user, numbers);
  if (type & PERF_SAMPLE_STACK_USER) take_stack(numbers);
  // A weight of several parts has them in the same bits of the word.
  if (type & PERF_SAMPLE_WEIGHT_TYPE) numbers.next<std::uint64_t>();
  numbers.words(perf_fields(type, PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION));
  if (type & PERF_SAMPLE_REGS_INTR) take_registers(attr.sample_regs_intr, numbers);
  numbers.words(perf_fields(type, PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
                                      PERF_SAMPLE_CODE_PAGE_SIZE));
  if (type & PERF_SAMPLE_AUX) numbers.leave(numbers.next<std::uint64_t>());
}

// An empty branch stack has two encodings, as in parse_sample() (sample_view.h).
void swap_sample(const perf_event_attr& attr, std::span<std::byte> payload) {
  Numbers look(payload, false);
  take_sample(attr, true, look);
  Numbers numbers(payload, true);
  take_sample(attr, look.all_taken(), numbers);
}

void swap_other(const perf_event_header& header, const perf_event_attr& attr, std::span<std::byte> payload) {
  const std::uint64_t type = attr.sample_id_all ? attr.sample_type : 0;
  const std::size_t trailer = perf_fields(type, kFieldsOfTrailer) * sizeof(std::uint64_t);
  if (trailer > payload.size()) return;
  Numbers(payload.first(payload.size() - trailer), true).by_sizes(sizes_of(header));
  Numbers identity(payload.last(trailer), true);
  take_trailer(type, identity);
}

std::uint64_t bits_reversed(std::uint64_t value) {
  std::uint64_t out = 0;
  for (unsigned bit = 0; bit < 64; ++bit) out = out << 1 | (value >> bit & 1);
  return out;
}

}  // namespace

void swap_perf_attr(std::span<std::byte> attr) {
  Numbers(attr, true).by_sizes(kAttr);
  std::uint64_t flags = 0;
  if (attr.size() < kAttrFlags + sizeof flags) return;
  std::memcpy(&flags, attr.data() + kAttrFlags, sizeof flags);
  flags = bits_reversed(flags);
  constexpr std::uint64_t kLow = std::uint64_t{1} << kPreciseIp, kHigh = kLow << 1;
  flags = (flags & ~(kLow | kHigh)) | (flags & kLow) << 1 | (flags & kHigh) >> 1;
  std::memcpy(attr.data() + kAttrFlags, &flags, sizeof flags);
}

void PerfSwap::record(std::span<std::byte> record, const std::vector<PerfAttr>& events) {
  while (event_of_.events() < events.size()) event_of_.add(events[event_of_.events()]);
  perf_event_header header;
  if (record.size() < sizeof header) return;
  Numbers(record.first(sizeof header), true).by_sizes("422");
  std::memcpy(&header, record.data(), sizeof header);
  const std::span<std::byte> payload = record.subspan(sizeof header);
  const std::optional<std::size_t> event = event_of_.of(header, payload, ByteOrder::kOther);
  if (!event) {
    // Its id, at least, is to be said rightly.
    Numbers(payload, true).words_to_the_end();
  } else if (header.type == PERF_RECORD_SAMPLE) {
    swap_sample(events[*event].attr, payload);
  } else {
    swap_other(header, events[*event].attr, payload);
  }
}

}  // namespace tailor::formats
