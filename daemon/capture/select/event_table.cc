#include "daemon/capture/select/event_table.h"

#include <fmt/format.h>
#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>
#include <mutex>

namespace tailor::capture {
namespace {

// libpfm4 keeps global state. Tables of other hosts are refused unless the variable is set before it starts.
int initialize_once() {
  static const int result = [] {
    ::setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    return pfm_initialize();
  }();
  return result;
}

// From Skylake to Comet Lake an event of all branches is precise under another umask only (BR_MISP_RETIRED.
// ALL_BRANCHES_PEBS, BR_INST_RETIRED.ALL_BRANCHES_PEBS in Intel's tables), which libpfm4 4.13 does not know.
std::uint64_t precise_config(const std::string& name, std::uint64_t config) {
  const bool skylake = name.starts_with("skl::") || name.starts_with("skx::") || name.starts_with("clx::");
  const std::uint64_t event = config & 0xFFFF;  // and umask
  return skylake && (event == 0xC4 || event == 0xC5) ? config | 0x400 : config;
}

}  // namespace

Result<EncodedEvent> encode_event(const std::string& name) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  int code = initialize_once();
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t argument{};
  argument.size = sizeof argument;
  argument.attr = &attr;
  if (code == PFM_SUCCESS) {
    code = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
  }
  if (code != PFM_SUCCESS) return invalid(fmt::format("event '{}': {}", name, pfm_strerror(code)));
  if (attr.precise_ip > 0) attr.config = precise_config(name, attr.config);
  return EncodedEvent{attr.type, attr.config, attr.config1, attr.config2,
                      static_cast<unsigned>(attr.precise_ip)};
}

}  // namespace tailor::capture
