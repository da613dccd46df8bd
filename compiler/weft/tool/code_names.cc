#include "compiler/weft/tool/code_names.h"

#include <fmt/format.h>

#include <atomic>

namespace tailor::weft {
namespace {

void tell(const Status& status) {
  static std::atomic_flag told;
  if (!status.ok() && !told.test_and_set()) fmt::print(stderr, "weft: {}\n", status.error().message);
}

}  // namespace

Result<CodeNames> CodeNames::make(const CommandLine& command) {
  CodeNames names;
  if (command.perf_map) {
    auto map = tagging::PerfMap::create();
    if (!map.ok()) return map.error();
    names.map_ = std::move(*map);
  }
  if (!command.jitdump.empty()) {
    auto dump = tagging::JitDump::create(command.jitdump);
    if (!dump.ok()) return dump.error();
    names.dump_ = std::move(*dump);
  }
  if (command.gdb) names.gdb_ = std::make_unique<tagging::GdbSymbols>();
  return names;
}

void CodeNames::loaded(const v1::Plan& plan, const v1::CodeObject& code) {
  if (map_ != nullptr) tell(map_->add(code));
  if (dump_ != nullptr) tell(dump_->add(plan, code));
  if (gdb_ != nullptr) gdb_->add(code);
}

}  // namespace tailor::weft
