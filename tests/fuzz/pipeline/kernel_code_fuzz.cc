// What the kernel says of code that comes, goes and is moved over other code, in any order, with losses: an
// address never has the name of anything but what was said last to be there. Six bytes are a record.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "daemon/pipeline/kernel_code.h"

namespace {

using tailor::TimeNs;
using tailor::pipeline::KernelCode;

constexpr std::uint64_t kBase = 0xffffffffc0000000;
constexpr std::size_t kBytes = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

// What each byte shows at the newest time.
class Shown : public tailor::profile::ProfileSink {
 public:
  void on_mapping(const tailor::profile::MappingRecord& mapping) override {
    require(mapping.process == tailor::ProcessId{} && mapping.size > 0);
    require(mapping.begin >> 63 != 0 && mapping.begin <= UINT64_MAX - mapping.size);
    if (mapping.time < newest) return;
    for (std::size_t at = 0; at < kBytes; ++at) {
      if (kBase + at - mapping.begin < mapping.size) names[at] = mapping.path;
    }
  }
  void on_recording(const tailor::profile::RecordingInfo&) override {}
  void on_process(const tailor::profile::ProcessRecord&) override {}
  void on_thread(tailor::ProcessId, std::int32_t, const std::string&) override {}
  void on_component(tailor::ProcessId, std::uint32_t, const std::string&) override {}
  void on_region_kind(tailor::ProcessId, const tailor::v1::RegionKind&) override {}
  void on_plan(tailor::ProcessId, TimeNs, const tailor::v1::Plan&) override {}
  void on_code(tailor::ProcessId, TimeNs, const tailor::v1::CodeObject&) override {}
  void on_code_unload(tailor::ProcessId, TimeNs, tailor::CodeId) override {}
  void on_execution(const tailor::profile::ExecutionRecord&) override {}
  void on_samples(std::span<const tailor::profile::SampleRecord>) override {}
  void on_activity(std::span<const tailor::profile::ActivityRecord>) override {}
  void on_accounting(const tailor::profile::Accounting&) override {}
  void on_watermark(TimeNs) override {}

  std::array<std::string, kBytes> names;
  TimeNs newest = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Shown shown;
  KernelCode code(shown);
  std::array<std::string, kBytes> said;
  TimeNs time = 0;
  for (std::span<const std::uint8_t> rest(data, std::min<std::size_t>(size, 6 * 512)); rest.size() >= 6;
       rest = rest.subspan(6)) {
    const std::string name = rest[0] % 16 == 15 ? "" : "program_" + std::to_string(rest[0] % 16);
    const bool unloaded = (rest[0] & 0x10) != 0, late = (rest[0] & 0x20) != 0,
               lost = (rest[0] & 0xC0) == 0xC0;
    const std::uint64_t begin = kBase + (rest[1] << 8 | rest[2]) % kBytes,
                        length = rest[3] + 16 * (rest[4] % 16);
    time += rest[5];
    const TimeNs before = shown.newest;
    if (!late) shown.newest = time;
    if (lost) {
      code.lost(time);
      shown.newest = time;
    } else {
      const bool sense = code.add({.time = late ? shown.newest - 1 - rest[5] : time,
                                   .begin = begin,
                                   .size = length,
                                   .name = name,
                                   .bpf = true,
                                   .unloaded = unloaded});
      require(sense == (length != 0 && (unloaded || !name.empty())));
      if (!sense) shown.newest = before;
      if (!sense || late) continue;
    }
    for (std::size_t at = 0; at < kBytes; ++at) {
      if (lost) said[at].clear();
      if (!lost && kBase + at - begin < length) said[at] = unloaded ? "" : tailor::profile::kBpfCode + name;
      require(shown.names[at].empty() || shown.names[at] == said[at]);
    }
  }
  return 0;
}
