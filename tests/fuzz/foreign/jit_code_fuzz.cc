// What processes without an agent write: jitdumps, perf maps, and the names of their mappings.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/foreign/find_jitdump.h"
#include "daemon/foreign/foreign_plan.h"
#include "daemon/formats/jitdump.h"
#include "daemon/formats/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor;
  using namespace tailor::foreign;
  formats::JitDumpParser parser;
  std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data), size);
  const std::size_t piece = size == 0 ? 1 : 1 + data[size - 1];
  while (!rest.empty() && parser.feed(rest.first(std::min(piece, rest.size()))).ok())
    rest = rest.subspan(std::min(piece, rest.size()));
  ForeignPlan plan(1, "fuzz", true, tailor::v1::TOLD_BY_JITDUMP);
  for (const formats::JitSymbol& symbol : parser.take()) {
    if (symbol.size == 0 || symbol.address + symbol.size < symbol.address) std::abort();
    (void)plan.add(symbol, 1, symbol.timestamp_ns);
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool whole : {false, true}) {
    std::size_t used = 0;
    for (const formats::JitSymbol& symbol : formats::parse_perf_map(text, used, whole).symbols) {
      if (symbol.size == 0 || symbol.address + symbol.size < symbol.address) std::abort();
      (void)plan.add(symbol, 1, 0);
    }
    if (whole ? used != text.size() : used != text.rfind('\n') + 1) std::abort();
  }
  if (!plan.plan().SerializeAsString().empty() &&
      !tailor::v1::Plan().ParseFromString(plan.plan().SerializeAsString()))
    std::abort();
  for (const MappedDump& each : find_jitdumps(text, 7))
    if (each.range.find('/') != std::string::npos) std::abort();
  return 0;
}
