#include "daemon/os/capabilities.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"

namespace tailor::os {
namespace {

constexpr int kBitsAWord = 32;
constexpr int kMostNumbers = 64;  // of the words of the system call
using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

Error refused(const char* what) {
  const int code = errno;
  return os_error(fmt::format("{}: {}", what, std::strerror(code)), code);
}

__user_cap_header_struct own_thread() {
  return {_LINUX_CAPABILITY_VERSION_3, 0};
}

Result<Words> read_words() {
  Words words{};
  auto header = own_thread();
  if (::syscall(SYS_capget, &header, words.data()) != 0) return refused("capget");
  return words;
}

Status write_words(const Words& words) {
  auto header = own_thread();
  if (::syscall(SYS_capset, &header, words.data()) != 0) return refused("capset");
  return Ok{};
}

std::uint32_t word_of(Capabilities all, std::size_t word) {
  return static_cast<std::uint32_t>(all >> (kBitsAWord * word));
}

// Those that no execve() can bring back.
Status bound(Capabilities kept) {
  Status done = Ok{};
  for (int number = 0; number < kMostNumbers; ++number) {
    // The kernel knows none beyond.
    const int is_there = ::prctl(PR_CAPBSET_READ, number, 0, 0, 0);
    if (is_there < 0) break;
    if (is_there == 0 || (kept & capability(number)) != 0) continue;
    if (::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 && done.ok()) done = refused("PR_CAPBSET_DROP");
  }
  return done;
}

Status limit_threads_own(Capabilities kept) {
  auto words = read_words();
  if (!words.ok()) return words.error();
  for (std::size_t i = 0; i < words->size(); ++i) {
    __user_cap_data_struct& each = (*words)[i];
    each.permitted &= word_of(kept, i);
    each.effective = each.permitted;
    each.inheritable = 0;  // the ambient ones go with these
  }
  return write_words(*words);
}

Status no_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("PR_SET_NO_NEW_PRIVS");
  return Ok{};
}

}  // namespace

Result<Capabilities> permitted_capabilities() {
  const auto words = read_words();
  if (!words.ok()) return words.error();
  Capabilities all = 0;
  for (std::size_t i = 0; i < words->size(); ++i)
    all |= Capabilities{(*words)[i].permitted} << (kBitsAWord * i);
  return all;
}

Status set_effective_capabilities(Capabilities effective) {
  auto words = read_words();
  if (!words.ok()) return words.error();
  for (std::size_t i = 0; i < words->size(); ++i)
    (*words)[i].effective = (*words)[i].permitted & word_of(effective, i);
  return write_words(*words);
}

Status keep_capabilities(Capabilities kept) {
  Status all = bound(kept);
  // That takes CAP_SETPCAP, so the thread's own go after it.
  for (const Status& each : {limit_threads_own(kept), no_new_privileges()}) {
    if (all.ok()) all = each;
  }
  return all;
}

}  // namespace tailor::os
