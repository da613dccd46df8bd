#include "daemon/query/reports/thread_begins.h"

#include <algorithm>
#include <array>

namespace tailor::query {

bool begins_thread(std::string_view function) {
  using std::string_view_literals::operator""sv;
  constexpr std::array kNames = {
      "_start"sv,
      "main"sv,
      "__libc_start_main"sv,
      "__libc_start_main_impl"sv,
      "_dl_start_user"sv,
      "start_thread"sv,
      "clone"sv,
      "__clone"sv,
      "clone3"sv,
      "__clone3"sv,
      "ret_from_fork"sv,
      "ret_from_fork_asm"sv,
      "runtime.goexit"sv,
      "runtime.mstart"sv,
      "runtime.rt0_go"sv,
      "secondary_startup_64"sv,
  };
  // "runtime.goexit.abi0", "__libc_start_main@@GLIBC_2.34"
  constexpr std::string_view kAbi = ".abi0";
  if (function.ends_with(kAbi)) function.remove_suffix(kAbi.size());
  function = function.substr(0, function.find('@'));
  return std::ranges::find(kNames, function) != kNames.end();
}

}  // namespace tailor::query
