// Encodes perf records from their fields, by the comments of linux/perf_event.h alone: what the decoder is
// tested against.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::test {

class RecordBytes {
 public:
  RecordBytes(std::uint32_t type, std::uint16_t misc) {
    u32(type);
    u16(misc);
    u16(0);
  }
  RecordBytes& u8(std::uint8_t v) { return put(&v, sizeof v); }
  RecordBytes& u16(std::uint16_t v) { return put(&v, sizeof v); }
  RecordBytes& u32(std::uint32_t v) { return put(&v, sizeof v); }
  RecordBytes& u64(std::uint64_t v) { return put(&v, sizeof v); }
  RecordBytes& u64s(const std::vector<std::uint64_t>& values) {
    for (std::uint64_t v : values) u64(v);
    return *this;
  }
  RecordBytes& raw(std::string_view bytes) { return put(bytes.data(), bytes.size()); }
  // Terminated and padded with zeros to a multiple of eight bytes, as the kernel does.
  RecordBytes& text(std::string_view value) {
    raw(value);
    do u8(0);
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  std::vector<std::byte> done() {
    auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + 6, &size, sizeof size);
    return bytes_;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  RecordBytes& put(const void* data, std::size_t size) {
    auto first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
    return *this;
  }
  std::vector<std::byte> bytes_;
};

struct SampleFields {
  std::uint16_t misc = PERF_RECORD_MISC_USER;
  std::uint64_t identifier = 0, ip = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time = 0, address = 0, id = 0, stream_id = 0;
  std::uint32_t cpu = 0;
  std::uint64_t period = 0;
  std::vector<std::uint64_t> read_values;  // already in the shape of the format
  std::vector<std::uint64_t> chain;
  std::vector<std::byte> raw;
  bool branch_index_present = true;
  std::uint64_t branch_hw_index = 0;
  std::vector<std::uint64_t> branches, branch_counters;
  std::uint64_t user_abi = PERF_SAMPLE_REGS_ABI_64;
  std::vector<std::uint64_t> user_registers;
  std::vector<std::byte> stack;
  std::uint64_t stack_dynamic_size = 0;
  std::uint64_t weight = 0, data_source = 0, transaction = 0;
  std::uint64_t interrupt_abi = PERF_SAMPLE_REGS_ABI_64;
  std::vector<std::uint64_t> interrupt_registers;
  std::uint64_t physical_address = 0, cgroup = 0, data_page_size = 0, code_page_size = 0;
  std::vector<std::byte> aux;
};

std::vector<std::byte> encode_sample(const capture::EventFormat& format, const SampleFields& fields);

// Adds the trailing sample_id (pid, tid, time, cpu, identifier and id of `fields`) to a record and ends it.
std::vector<std::byte> with_sample_id(RecordBytes record, const capture::EventFormat& format,
                                      const SampleFields& fields);

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes);

// A record of every type but samples, each with its identity in the trailer. `time` (and a little later): of
// those that carry a time of their own.
std::vector<std::vector<std::byte>> every_sideband_record(const capture::EventFormat& format,
                                                          const SampleFields& id, std::uint64_t time);

}  // namespace tailor::test
