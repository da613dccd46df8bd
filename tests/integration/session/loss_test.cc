// Nothing is lost in silence: while the reader of the rings stands still until they are full, every event the
// kernel counts is told in the end, as a sample or as a loss. Held against a counter of the same event, to
// the sample.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/os/host_files.h"
#include "daemon/session/host_info.h"
#include "daemon/session/recorder.h"
#include "tests/support/child_process.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_os.h"
#include "tests/support/forwarding_os.h"
#include "tests/support/host_allows.h"
#include "tests/support/process_state.h"

namespace tailor::session {
namespace {

// The operating system, in whose poller the thread that reads the rings stands still when it is told to.
class StallingOs : public test::ForwardingOs {
 public:
  // Until it stands.
  void stall() {
    std::unique_lock lock(mutex_);
    wanted_ = true;
    changed_.wait(lock, [this] { return stands_; });
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    wanted_ = stands_ = false;
    changed_.notify_all();
  }

  Result<std::unique_ptr<os::Poller>> make_poller() override {
    auto poller = ForwardingOs::make_poller();
    if (!poller) return poller.error();
    return std::unique_ptr<os::Poller>(new Poller(std::move(*poller), *this));
  }

 private:
  class Poller : public os::Poller {
   public:
    Poller(std::unique_ptr<os::Poller> real, StallingOs& os) : real_(std::move(real)), os_(os) {}
    Status add(int fd, std::uint64_t token) override { return real_->add(fd, token); }
    void remove(int fd) override { real_->remove(fd); }
    Result<std::vector<os::Ready>> wait(std::chrono::milliseconds timeout) override {
      os_.stand_still();
      return real_->wait(timeout);
    }

   private:
    std::unique_ptr<os::Poller> real_;
    StallingOs& os_;
  };

  void stand_still() {
    std::unique_lock lock(mutex_);
    if (!wanted_) return;
    stands_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !wanted_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false, stands_ = false;
};

constexpr std::uint64_t kSome = 20'000;   // faults
constexpr std::size_t kLeastRecord = 16;  // bytes, and less than any sample has

capture::CaptureOptions every_page_fault(capture::SampledBy by) {
  capture::CaptureOptions options;
  options.sampled_by = by;
  capture::EventSpec faults;
  faults.name = "page-faults";
  faults.mechanism = capture::Mechanism::kSoftware;
  faults.unit = profile::Unit::kEvents;
  faults.type = PERF_TYPE_SOFTWARE;
  faults.config = PERF_COUNT_SW_PAGE_FAULTS;
  faults.period = 1;
  // Without addresses: with them the rings hold records of all mappings too, and some of those are lost.
  options.events.push_back(faults);
  options.exclude_kernel = true;  // the same faults, whatever the host permits
  options.placement = capture::Placement::kPerThread;
  return options;
}

struct Told {
  std::uint64_t counted = 0;  // by the kernel
  profile::Accounting total;
  std::size_t samples = 0;  // given to the sink
  profile::Accounting in_sink;
};

// Until the kernel has counted that number more. Whether it has.
bool count_on(StallingOs& os, int counter, std::uint64_t more) {
  const auto counted = [&] {
    std::uint64_t count = 0;
    return os.read(counter, std::as_writable_bytes(std::span(&count, 1))).ok() ? count : 0;
  };
  return test::eventually([&, enough = counted() + more] { return counted() >= enough; });
}

// Records the target from end to end; the reader stands still in the middle if asked to.
void record(capture::SampledBy by, bool stalled, Told& told) {
  StallingOs os;
  test::ChildProcess child({TARGETS "/page_faults", "3600000"});
  ASSERT_EQ(child.read_line(), "ready");
  ASSERT_TRUE(test::eventually([&] { return test::is_asleep(child.pid()); }));  // it waits for a line
  capture::CaptureOptions options = every_page_fault(by);
  if (stalled) options.ring_bytes = std::size_t{128} << 10;  // they are full soon
  perf_event_attr attr = capture::make_attr(options.events[0], false, options, true);
  attr.sample_period = 0;
  attr.read_format = 0;
  auto counter = os.perf_event_open(attr, child.pid(), -1, -1, 0);
  if (!counter) GTEST_SKIP() << test::skip_if_denied(options, counter.error().message);

  test::TemporaryDirectory directory;
  test::CollectingSink sink;
  RecorderOptions live;
  live.agent_socket = (directory.path() / "agent.sock").string();
  auto recorder = Recorder::start(os, live, sink, [](const pipeline::Problem&) {});
  ASSERT_TRUE(recorder.ok()) << recorder.error().message;
  auto process = os::identify(os, child.pid());
  ASSERT_TRUE(process.ok());
  Status attached = (*recorder)->attach({*process, "page_faults"}, options);
  if (!attached.ok()) GTEST_SKIP() << test::skip_if_denied(options, attached.error().message);

  child.send("\n");
  EXPECT_TRUE(count_on(os, counter->get(), kSome));
  if (stalled) {
    os.stall();
    const std::size_t cpus = os::online_cpus(os)->size();
    EXPECT_TRUE(count_on(os, counter->get(), options.ring_bytes * cpus / kLeastRecord));
    os.go_on();
    EXPECT_TRUE(count_on(os, counter->get(), kSome));
  }
  ::kill(child.pid(), SIGKILL);
  child.wait();
  (*recorder)->stop();

  ASSERT_TRUE(os.read(counter->get(), std::as_writable_bytes(std::span(&told.counted, 1))).ok());
  told.total = (*recorder)->status().total;
  told.samples = sink.samples.size();
  for (const auto& [id, each] : sink.accounting) {
    told.in_sink.received += each.received;
    told.in_sink.lost_ring += each.lost_ring;
  }
}

void expect_to_add_up(const Told& told) {
  const profile::Accounting& total = told.total;
  EXPECT_EQ(total.received, total.attributed + total.unattributed + total.filtered + total.late);
  EXPECT_EQ(told.samples, total.attributed + total.unattributed);
  EXPECT_EQ(told.in_sink.received, total.received);
  EXPECT_EQ(told.in_sink.lost_ring, total.lost_ring);
  EXPECT_EQ(total.received + total.lost_ring, told.counted);
}

class Loss : public testing::TestWithParam<capture::SampledBy> {};
INSTANTIATE_TEST_SUITE_P(Sources, Loss, testing::Values(capture::SampledBy::kPerf, capture::SampledBy::kBpf),
                         [](const auto& each) {
                           return each.param == capture::SampledBy::kBpf ? std::string("Bpf") : "Perf";
                         });

TEST_P(Loss, OfAReaderThatStoodStillIsToldToTheSample) {
  Told told;
  record(GetParam(), true, told);
  if (IsSkipped() || HasFatalFailure()) return;
  expect_to_add_up(told);
  // It was one: what came alone would not do.
  EXPECT_GT(told.total.lost_ring, 0u);
  EXPECT_GT(told.total.received, 0u);
}

TEST_P(Loss, ThereIsNoneWhereTheReaderKeepsUp) {
  Told told;
  record(GetParam(), false, told);
  if (IsSkipped() || HasFatalFailure()) return;
  expect_to_add_up(told);
  EXPECT_GT(told.counted, 10'000u);
}

}  // namespace
}  // namespace tailor::session
