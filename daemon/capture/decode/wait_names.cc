#include "daemon/capture/decode/wait_names.h"

#include <array>
#include <cstddef>
#include <utility>

namespace tailor::capture {
namespace {

// More than any kernel has of them; what is learnt comes from outside.
constexpr std::size_t kMostFunctions = 4096;

// Names of Linux 5.15 to 6.18. A wait is named by what the thread had asked for, so the functions are those
// between the entry to the kernel and the scheduler that all ways of that kind pass through.
constexpr std::array kFunctions = {
    std::pair{std::string_view("__futex_wait"), profile::Wait::kLock},
    std::pair{std::string_view("futex_wait"), profile::Wait::kLock},
    std::pair{std::string_view("futex_wait_queue"), profile::Wait::kLock},
    std::pair{std::string_view("futex_wait_queue_me"), profile::Wait::kLock},
    std::pair{std::string_view("futex_wait_multiple"), profile::Wait::kLock},
    std::pair{std::string_view("futex_wait_requeue_pi"), profile::Wait::kLock},
    std::pair{std::string_view("futex_lock_pi"), profile::Wait::kLock},
    std::pair{std::string_view("do_futex"), profile::Wait::kLock},

    std::pair{std::string_view("io_schedule"), profile::Wait::kIo},
    std::pair{std::string_view("io_schedule_timeout"), profile::Wait::kIo},
    std::pair{std::string_view("blk_io_schedule"), profile::Wait::kIo},
    std::pair{std::string_view("submit_bio_wait"), profile::Wait::kIo},
    std::pair{std::string_view("folio_wait_bit_common"), profile::Wait::kIo},
    std::pair{std::string_view("wait_on_page_bit_common"), profile::Wait::kIo},
    std::pair{std::string_view("__wait_on_buffer"), profile::Wait::kIo},
    std::pair{std::string_view("filemap_read"), profile::Wait::kIo},
    std::pair{std::string_view("__iomap_dio_rw"), profile::Wait::kIo},
    std::pair{std::string_view("vfs_fsync_range"), profile::Wait::kIo},
    std::pair{std::string_view("do_fsync"), profile::Wait::kIo},
    std::pair{std::string_view("read_events"), profile::Wait::kIo},
    std::pair{std::string_view("io_cqring_wait"), profile::Wait::kIo},
    std::pair{std::string_view("balance_dirty_pages"), profile::Wait::kIo},

    std::pair{std::string_view("handle_mm_fault"), profile::Wait::kPage},
    std::pair{std::string_view("do_user_addr_fault"), profile::Wait::kPage},
    std::pair{std::string_view("exc_page_fault"), profile::Wait::kPage},

    std::pair{std::string_view("do_nanosleep"), profile::Wait::kSleep},
    std::pair{std::string_view("hrtimer_nanosleep"), profile::Wait::kSleep},

    std::pair{std::string_view("pipe_read"), profile::Wait::kPeer},
    std::pair{std::string_view("anon_pipe_read"), profile::Wait::kPeer},
    std::pair{std::string_view("pipe_write"), profile::Wait::kPeer},
    std::pair{std::string_view("anon_pipe_write"), profile::Wait::kPeer},
    std::pair{std::string_view("eventfd_read"), profile::Wait::kPeer},
    std::pair{std::string_view("sock_recvmsg"), profile::Wait::kPeer},
    std::pair{std::string_view("sock_sendmsg"), profile::Wait::kPeer},
    std::pair{std::string_view("sock_read_iter"), profile::Wait::kPeer},
    std::pair{std::string_view("sock_write_iter"), profile::Wait::kPeer},
    std::pair{std::string_view("unix_stream_recvmsg"), profile::Wait::kPeer},
    std::pair{std::string_view("unix_stream_read_generic"), profile::Wait::kPeer},
    std::pair{std::string_view("tcp_recvmsg"), profile::Wait::kPeer},
    std::pair{std::string_view("tcp_sendmsg"), profile::Wait::kPeer},
    std::pair{std::string_view("inet_csk_accept"), profile::Wait::kPeer},
    std::pair{std::string_view("ep_poll"), profile::Wait::kPeer},
    std::pair{std::string_view("do_epoll_wait"), profile::Wait::kPeer},
    std::pair{std::string_view("do_poll"), profile::Wait::kPeer},
    std::pair{std::string_view("do_sys_poll"), profile::Wait::kPeer},
    std::pair{std::string_view("do_select"), profile::Wait::kPeer},
};

}  // namespace

profile::Wait wait_in(std::string_view name) {
  name = name.substr(0, name.find('.'));
  for (const auto& [function, wait] : kFunctions) {
    if (function == name) return wait;
  }
  return profile::Wait::kNone;
}

void WaitNames::learn(std::uint64_t address, std::uint64_t size, std::string_view name) {
  const profile::Wait wait = wait_in(name);
  if (wait == profile::Wait::kNone || size == 0 || size > ~address) return;
  if (functions_.size() >= kMostFunctions && !functions_.contains(address)) return;
  functions_[address] = {address + size, wait};
}

profile::Wait WaitNames::of(std::span<const std::uint64_t> kernel_chain) const {
  profile::Wait innermost = profile::Wait::kBlocked;
  for (const std::uint64_t address : kernel_chain) {
    const auto after = functions_.upper_bound(address);
    if (after == functions_.begin() || std::prev(after)->second.end <= address) continue;
    const profile::Wait wait = std::prev(after)->second.wait;
    if (wait == profile::Wait::kPage) return wait;
    if (innermost == profile::Wait::kBlocked) innermost = wait;
  }
  return innermost;
}

}  // namespace tailor::capture
