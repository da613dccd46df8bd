#include "tests/support/fake_os.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace tailor::test {
namespace {

Error injected(int code) {
  return Error{std::string("injected: ") + std::strerror(code), code};
}

constexpr std::size_t kPage = 4096;

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "tailor.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::write(const std::string& name, const std::string& content) const {
  std::filesystem::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name) << content;
}

FakeOs::FakeOs() {
  set_online_cpus("0-1");
  proc_.write("sys/kernel/perf_event_paranoid", "1\n");
  proc_.write("sys/kernel/perf_event_mlock_kb", "516\n");
  proc_.write("self/status", "Name:\ttest\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
}

void FakeOs::add_threads(pid_t pid, const std::vector<pid_t>& tids) {
  for (pid_t tid : tids)
    proc_.write(std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm", "thread\n");
}

FakeOs::Opened& FakeOs::by_fd(int fd) {
  const auto found = std::ranges::find(opened_.rbegin(), opened_.rend(), fd, &Opened::fd);
  if (found == opened_.rend()) std::abort();
  return *found;
}

Result<UniqueFd> FakeOs::perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                         unsigned long) {
  int code = fail_open ? fail_open(attr, pid, cpu) : 0;
  if (code != 0) return injected(code);
  UniqueFd fd(::memfd_create("perf_event", MFD_CLOEXEC));
  opened_.push_back({attr, pid, cpu, fd.get(), group});
  return fd;
}

Status FakeOs::perf_ioctl(int fd, unsigned long request, unsigned long argument) {
  int code = fail_ioctl ? fail_ioctl(request) : 0;
  if (code != 0) return injected(code);
  if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE)
    by_fd(fd).enabled = request == PERF_EVENT_IOC_ENABLE;
  if (request == PERF_EVENT_IOC_SET_OUTPUT) by_fd(fd).output_to = static_cast<int>(argument);
  return Ok{};
}

Result<std::uint64_t> FakeOs::perf_event_id(int fd) {
  return 1000 + static_cast<std::uint64_t>(fd);
}

Result<std::size_t> FakeOs::read(int fd, std::span<std::byte> into) {
  const auto& event = by_fd(fd);
  std::vector<std::uint64_t> told = {event.counted};
  const auto tell = [&](std::uint64_t field, std::uint64_t value) {
    if (event.attr.read_format & field) told.push_back(value);
  };
  tell(PERF_FORMAT_TOTAL_TIME_ENABLED, event.enabled_ns);
  tell(PERF_FORMAT_TOTAL_TIME_RUNNING, event.running_ns);
  tell(PERF_FORMAT_LOST, event.lost);
  std::memcpy(into.data(), told.data(), std::min(into.size(), told.size() * sizeof told[0]));
  return told.size() * sizeof told[0];
}

Result<os::Mapping> FakeOs::map_ring(int fd, std::size_t bytes) {
  int code = fail_map ? fail_map(bytes) : 0;
  if (code != 0) return injected(code);
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return injected(errno);
  auto map = [&] {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) std::abort();
    return os::Mapping(static_cast<std::byte*>(data), bytes);
  };
  kernel_side_[fd] = map();
  by_fd(fd).mapped = bytes;
  return map();
}

Result<UniqueFd> FakeOs::pidfd_open(pid_t) {
  return UniqueFd(::eventfd(0, EFD_CLOEXEC));
}

Result<std::unique_ptr<os::Poller>> FakeOs::make_poller() {
  return injected(ENOSYS);
}

bool FakeOs::put(Opened& owner, std::span<const std::byte> record) {
  os::Mapping& memory = kernel_side_.at(owner.fd);
  auto* page = reinterpret_cast<perf_event_mmap_page*>(memory.data());
  std::size_t capacity = owner.mapped - kPage;
  if (page->data_head - page->data_tail + record.size() > capacity) return false;
  std::uint64_t head = page->data_head;
  for (std::byte byte : record) memory.data()[kPage + head++ % capacity] = byte;
  // A reader sees all of the record or nothing meanwhile, as with the kernel.
  __atomic_store_n(&page->data_head, head, __ATOMIC_RELEASE);
  return true;
}

void FakeOs::write_record(int fd, std::span<const std::byte> record) {
  Opened& event = by_fd(fd);
  Opened& owner = event.output_to >= 0 ? by_fd(event.output_to) : event;
  std::uint64_t& untold = untold_losses_[owner.fd];
  if (untold != 0) {
    // Header, id, lost, then a sample_id of zeros.
    constexpr std::uint64_t kIdentity = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                        PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    std::vector<std::uint64_t> words(
        3 + static_cast<unsigned>(std::popcount(event.attr.sample_type & kIdentity)));
    words[2] = untold;
    perf_event_header header{PERF_RECORD_LOST, 0, static_cast<std::uint16_t>(words.size() * 8)};
    std::memcpy(words.data(), &header, sizeof header);
    if (put(owner, std::as_bytes(std::span(words)))) untold = 0;
  }
  if (untold == 0 && put(owner, record)) return;
  ++untold;
  ++event.lost;
}

}  // namespace tailor::test
