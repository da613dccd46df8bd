#include "daemon/capture/wait_names.h"

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
    std::pair{std::string_view("__futex_wait"), Wait::kLock},
    std::pair{std::string_view("futex_wait"), Wait::kLock},
    std::pair{std::string_view("futex_wait_queue"), Wait::kLock},
    std::pair{std::string_view("futex_wait_queue_me"), Wait::kLock},
    std::pair{std::string_view("futex_wait_multiple"), Wait::kLock},
    std::pair{std::string_view("futex_wait_requeue_pi"), Wait::kLock},
    std::pair{std::string_view("futex_lock_pi"), Wait::kLock},
    std::pair{std::string_view("do_futex"), Wait::kLock},

    std::pair{std::string_view("io_schedule"), Wait::kIo},
    std::pair{std::string_view("io_schedule_timeout"), Wait::kIo},
    std::pair{std::string_view("blk_io_schedule"), Wait::kIo},
    std::pair{std::string_view("submit_bio_wait"), Wait::kIo},
    std::pair{std::string_view("folio_wait_bit_common"), Wait::kIo},
    std::pair{std::string_view("wait_on_page_bit_common"), Wait::kIo},
    std::pair{std::string_view("__wait_on_buffer"), Wait::kIo},
    std::pair{std::string_view("filemap_read"), Wait::kIo},
    std::pair{std::string_view("__iomap_dio_rw"), Wait::kIo},
    std::pair{std::string_view("vfs_fsync_range"), Wait::kIo},
    std::pair{std::string_view("do_fsync"), Wait::kIo},
    std::pair{std::string_view("read_events"), Wait::kIo},
    std::pair{std::string_view("io_cqring_wait"), Wait::kIo},
    std::pair{std::string_view("balance_dirty_pages"), Wait::kIo},

    std::pair{std::string_view("handle_mm_fault"), Wait::kPage},
    std::pair{std::string_view("do_user_addr_fault"), Wait::kPage},
    std::pair{std::string_view("exc_page_fault"), Wait::kPage},

    std::pair{std::string_view("do_nanosleep"), Wait::kSleep},
    std::pair{std::string_view("hrtimer_nanosleep"), Wait::kSleep},

    std::pair{std::string_view("pipe_read"), Wait::kPeer},
    std::pair{std::string_view("anon_pipe_read"), Wait::kPeer},
    std::pair{std::string_view("pipe_write"), Wait::kPeer},
    std::pair{std::string_view("anon_pipe_write"), Wait::kPeer},
    std::pair{std::string_view("eventfd_read"), Wait::kPeer},
    std::pair{std::string_view("sock_recvmsg"), Wait::kPeer},
    std::pair{std::string_view("sock_sendmsg"), Wait::kPeer},
    std::pair{std::string_view("sock_read_iter"), Wait::kPeer},
    std::pair{std::string_view("sock_write_iter"), Wait::kPeer},
    std::pair{std::string_view("unix_stream_recvmsg"), Wait::kPeer},
    std::pair{std::string_view("unix_stream_read_generic"), Wait::kPeer},
    std::pair{std::string_view("tcp_recvmsg"), Wait::kPeer},
    std::pair{std::string_view("tcp_sendmsg"), Wait::kPeer},
    std::pair{std::string_view("inet_csk_accept"), Wait::kPeer},
    std::pair{std::string_view("ep_poll"), Wait::kPeer},
    std::pair{std::string_view("do_epoll_wait"), Wait::kPeer},
    std::pair{std::string_view("do_poll"), Wait::kPeer},
    std::pair{std::string_view("do_sys_poll"), Wait::kPeer},
    std::pair{std::string_view("do_select"), Wait::kPeer},
};

}  // namespace

Wait wait_in(std::string_view name) {
  name = name.substr(0, name.find('.'));
  for (const auto& [function, wait] : kFunctions) {
    if (function == name) return wait;
  }
  return Wait::kNone;
}

void WaitNames::learn(std::uint64_t address, std::uint64_t size, std::string_view name) {
  const Wait wait = wait_in(name);
  if (wait == Wait::kNone || size == 0 || size > ~address) return;
  if (functions_.size() >= kMostFunctions && !functions_.contains(address)) return;
  functions_[address] = {address + size, wait};
}

Wait WaitNames::of(std::span<const std::uint64_t> kernel_chain) const {
  Wait innermost = Wait::kBlocked;
  for (const std::uint64_t address : kernel_chain) {
    const auto after = functions_.upper_bound(address);
    if (after == functions_.begin() || std::prev(after)->second.end <= address) continue;
    const Wait wait = std::prev(after)->second.wait;
    if (wait == Wait::kPage) return wait;
    if (innermost == Wait::kBlocked) innermost = wait;
  }
  return innermost;
}

}  // namespace tailor::capture
