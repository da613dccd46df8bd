#include "daemon/formats/perf_kernel.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include "daemon/formats/perf_fields.h"

namespace tailor::formats {

std::string kernel_anchor_in(PerfBytes records) {
  constexpr std::string_view kKernel = "[kernel.kallsyms]";
  while (records.size() >= sizeof(perf_event_header)) {
    PerfCursor cursor(records);
    const auto header = cursor.record_header();
    if (header.size < sizeof header || header.size > records.size()) return {};
    PerfCursor fields(records.subspan(sizeof header, header.size - sizeof header));
    records = records.subspan(header.size);
    const bool kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (header.type != PERF_RECORD_MMAP || !kernel) continue;
    fields.fixed<std::uint64_t>();  // pid and tid: of nobody
    fields.fixed<std::uint64_t>();  // begin
    fields.fixed<std::uint64_t>();  // size
    const auto address = fields.fixed<std::uint64_t>();
    const auto* text = reinterpret_cast<const char*>(fields.rest().data());
    const std::string name(text, ::strnlen(text, fields.rest().size()));
    if (!fields.ok() || address == 0 || !name.starts_with(kKernel) || name.size() == kKernel.size()) continue;
    return fmt::format("{}={:x}", name.substr(kKernel.size()), address);
  }
  return {};
}

}  // namespace tailor::formats
