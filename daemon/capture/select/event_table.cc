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
  if (code != PFM_SUCCESS) return Error{fmt::format("event '{}': {}", name, pfm_strerror(code))};
  return EncodedEvent{attr.type, attr.config, attr.config1, attr.config2,
                      static_cast<unsigned>(attr.precise_ip)};
}

}  // namespace tailor::capture
