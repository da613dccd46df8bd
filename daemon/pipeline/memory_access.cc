#include "daemon/pipeline/memory_access.h"

#include <asm/perf_regs.h>

#include <bit>

namespace tailor::pipeline {
namespace {

// Of code that was read; beyond it reading starts anew.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
// More than the two that may hold a tag, IP and stack pointer: the recording was asked for operands.
constexpr int kEnoughRegisters = 8;

// Of a user-mode sample, 0: not sampled.
std::uint64_t stack_pointer(const capture::Batch& batch, const capture::Event& event) {
  constexpr std::uint32_t kBit = std::uint32_t{1} << PERF_REG_X86_SP;
  if ((event.regs_mask & kBit) == 0) return 0;
  return batch.words[event.regs_offset + static_cast<unsigned>(std::popcount(event.regs_mask & (kBit - 1)))];
}

// What the mappings say of an address: a kind of region, 0: nothing.
std::uint32_t area_of(const capture::Batch& batch, const capture::Event& event,
                      process::ProcessState& process, std::uint64_t address) {
  if (process.code_at(address, event.time) != nullptr) return region_kind_of(process::MemoryArea::kCode);
  const auto found = process.memory().find(address, stack_pointer(batch, event));
  return found.known ? region_kind_of(found.area) : 0;
}

}  // namespace

void MemoryAccess::look_at_registers(std::uint32_t mask) {
  registers_ = mask;
  enough_registers_ = std::popcount(mask) >= kEnoughRegisters;
}

void MemoryAccess::find(const capture::Batch& batch, const capture::Event& event,
                        process::ProcessState& process, profile::SampleRecord& record) {
  if (event.has_address && event.address != 0) {
    record.address = event.address;
    record.address_from = profile::AddressFrom::kSample;
  } else if (event.mode == profile::Mode::kUser && enough_registers_) {
    decode(batch, event, process, record);
  }
  if (record.address_from == profile::AddressFrom::kNone) return;
  const process::Region* region = process.region_at(record.address, event.time);
  record.region = region != nullptr ? region->kind : area_of(batch, event, process, record.address);
}

void MemoryAccess::decode(const capture::Batch& batch, const capture::Event& event,
                          const process::ProcessState& process, profile::SampleRecord& record) {
  const process::CodeState* code = process.code_at(event.ip, event.time);
  if (code == nullptr || code->machine_code.empty()) return;
  const auto count = static_cast<std::size_t>(std::popcount(event.regs_mask));
  const enrich::Registers registers{event.regs_mask,
                                    std::span(batch.words).subspan(event.regs_offset, count)};
  const auto offset = static_cast<std::uint32_t>(event.ip - code->base);
  const auto operand = reader_of(process.id(), *code).operand_at(code->base, offset, registers);
  if (!operand) return;
  record.address = operand->address;
  record.address_from = profile::AddressFrom::kOperand;
  record.skid = operand->skid;
}

const enrich::CodeReader& MemoryAccess::reader_of(ProcessId process, const process::CodeState& code) {
  const Name name{process, code.id, code.loaded};
  if (const auto known = readers_.find(name); known != readers_.end()) return known->second->reader;
  if (bytes_ > kMostBytes) {
    readers_.clear();
    bytes_ = 0;
  }
  auto known = std::make_unique<Known>(code.machine_code);
  bytes_ += known->code.size() + known->reader.bytes();
  return readers_.emplace(name, std::move(known)).first->second->reader;
}

}  // namespace tailor::pipeline
