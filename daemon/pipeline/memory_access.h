// The data address of a sample, and the region it lies in: one that the engine registered, else what the
// mappings of the process say it is.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>

#include "daemon/capture/decode/batch.h"
#include "daemon/enrich/operand.h"
#include "daemon/process/process_state.h"
#include "daemon/profile/sink.h"

namespace tailor::pipeline {

// The number that stands for an area where samples name the region of their address.
constexpr std::uint32_t region_kind_of(process::MemoryArea area) {
  return profile::kFirstMappedRegion + static_cast<std::uint32_t>(area);
}

// One thread; deterministic.
class MemoryAccess {
 public:
  // Fills address, how it is known, region, latency and data source of `record`, the rest of which is
  // complete. Events in their order of time.
  void resolve(const capture::Batch& batch, const capture::Event& event, process::ProcessState& process,
               profile::SampleRecord& record) {
    record.latency = event.latency;
    record.data_source = event.data_source;
    if (event.has_address || has_enough(event.regs_mask)) find(batch, event, process, record);
  }

  // Whether enough registers were sampled to compute operands.
  bool has_enough(std::uint32_t registers) {
    if (registers != registers_) look_at_registers(registers);
    return enough_registers_;
  }

 private:
  // A code object is named by its process, number and load time: numbers are used again.
  using Name = std::tuple<ProcessId, CodeId, TimeNs>;
  struct Known {
    std::string code;
    enrich::CodeReader reader;
    explicit Known(const std::string& bytes) : code(bytes), reader(std::as_bytes(std::span(code))) {}
  };

  void look_at_registers(std::uint32_t mask);
  void find(const capture::Batch& batch, const capture::Event& event, process::ProcessState& process,
            profile::SampleRecord& record);
  const enrich::CodeReader& reader_of(ProcessId process, const process::CodeState& code);
  void decode(const capture::Batch& batch, const capture::Event& event, const process::ProcessState& process,
              profile::SampleRecord& record);

  std::uint32_t registers_ = 0;    // of the event before
  bool enough_registers_ = false;  // these suffice for operands
  std::map<Name, std::unique_ptr<Known>> readers_;
  std::size_t bytes_ = 0;  // of readers_
};

}  // namespace tailor::pipeline
