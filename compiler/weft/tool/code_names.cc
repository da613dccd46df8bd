#include "compiler/weft/tool/code_names.h"

#include <fmt/format.h>

#include <atomic>

namespace tailor::weft {
namespace {

void Tell(const Status& status) {
  static std::atomic_flag told;
  if (!status.ok() && !told.test_and_set()) fmt::print(stderr, "weft: {}\n", status.error().message);
}

}  // namespace

Result<CodeNames> CodeNames::Make(const CommandLine& command) {
  CodeNames names;
  if (command.perf_map) {
    auto map = tagging::PerfMap::Create();
    if (!map.ok()) return map.error();
    names.map_ = std::move(*map);
  }
  if (!command.jitdump.empty()) {
    auto dump = tagging::JitDump::Create(command.jitdump);
    if (!dump.ok()) return dump.error();
    names.dump_ = std::move(*dump);
  }
  if (command.gdb) names.gdb_ = std::make_unique<tagging::GdbSymbols>();
  return names;
}

void CodeNames::Loaded(const v1::Plan& plan, const v1::CodeObject& code) {
  if (map_ != nullptr) Tell(map_->Add(code));
  if (dump_ != nullptr) Tell(dump_->Add(plan, code));
  if (gdb_ != nullptr) gdb_->Add(code);
}

}  // namespace tailor::weft
