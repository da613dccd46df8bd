#include "daemon/capture/host/kernel_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "daemon/capture/host/perf_recording.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

// Keeps whose its rings are.
class RingOwners : public test::ChunkCollector {
 public:
  void on_ring(const RingLayout& layout) override {
    owners.push_back(layout.pid);
    ChunkCollector::on_ring(layout);
  }
  std::vector<std::int32_t> owners;
};

std::vector<std::byte> loaded(const perf_event_attr& attr, TimeNs time, std::uint64_t address,
                              const std::string& name, std::uint16_t flags = 0) {
  EventFormat format;
  format.sample_type = attr.sample_type;
  format.sample_id_all = true;
  test::SampleFields fields;
  fields.time = static_cast<std::uint64_t>(time);
  auto record = test::RecordBytes(PERF_RECORD_KSYMBOL, 0);
  record.u64(address).u32(64).u16(PERF_RECORD_KSYMBOL_TYPE_BPF).u16(flags).text(name);
  return test::with_sample_id(std::move(record), format, fields);
}

TEST(KernelWatch, ProgramsThatAreThereAreToldFirst) {
  test::FakeOs os;
  os.set_online_cpus("0-1");
  os.proc_files().write("kallsyms",
                        "ffffffff81000000 T _text\n"
                        "ffffffffc0000000 t bpf_prog_1_one\t[bpf]\n"
                        "ffffffffc0000040 t bpf_prog_2_two\t[bpf]\n"
                        "ffffffffc0001000 t mod_fn\t[ext4]\n");
  auto watch = open_kernel_watch(os, kernel_watch_options());
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  EXPECT_EQ((*watch)->ring_count(), 2u);
  ASSERT_EQ(os.opened().size(), 2u);
  for (const auto& event : os.opened()) {
    EXPECT_EQ(event.pid, -1);
    EXPECT_TRUE(event.attr.ksymbol && event.attr.exclude_kernel);
    EXPECT_FALSE(event.attr.mmap || event.attr.comm || event.attr.task || event.attr.context_switch);
    EXPECT_EQ(event.attr.config, std::uint64_t{PERF_COUNT_SW_DUMMY});
    EXPECT_EQ(event.attr.wakeup_watermark, 1u) << "each record wakes";
  }
  EXPECT_TRUE((*watch)->set_seldom_read(true));
  // While the symbols were read, one program came in the place of another, and one went.
  const TimeNs opened = os.time;
  const auto first = os.opened()[0], second = os.opened()[1];
  os.write_record(second.fd, loaded(second.attr, opened + 10, 0xffffffffc0000040, "bpf_prog_2_two"));
  os.write_record(first.fd, loaded(first.attr, opened + 20, 0xffffffffc0000000, "bpf_prog_1_one",
                                   PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER));
  RingOwners sink;
  (*watch)->number_rings(5);
  (*watch)->drain(sink);
  (*watch)->drain(sink);  // once is enough
  (*watch)->finish(sink);
  sink.settle();
  EXPECT_EQ(sink.owners, std::vector<std::int32_t>(2, kOfKernelCode));
  EXPECT_EQ(sink.closed, 2u);
  ASSERT_EQ(sink.events.events.size(), 3u);
  const auto& there = sink.events.events[0];
  EXPECT_EQ(there.kind, Kind::kKernelSymbol);
  EXPECT_EQ(there.time, opened);
  EXPECT_EQ(there.address, 0xffffffffc0000000);
  EXPECT_EQ(there.size, 64u);
  EXPECT_EQ(there.data_source, std::uint64_t{PERF_RECORD_KSYMBOL_TYPE_BPF});
  EXPECT_EQ(sink.events.text_of(there), "bpf_prog_1_one");
  EXPECT_EQ(sink.events.text_of(sink.events.events[1]), "bpf_prog_2_two");
  EXPECT_EQ(sink.events.events[1].time, opened + 10);
  EXPECT_TRUE(sink.events.events[2].flag_exec) << "it is gone";
}

class AskedPrograms : public testing::Test {
 protected:
  AskedPrograms() {
    os.set_online_cpus("0");
    os.proc_files().write("kallsyms",
                          "ffffffffc0000000 t bpf_prog_1_one\t[bpf]\n"
                          "ffffffffc0002000 t bpf_trampoline_7\t[bpf]\n");
  }
  // Address, size and name of each.
  std::vector<std::string> told(const AskForPrograms& ask) {
    auto watch = open_kernel_watch(os, kernel_watch_options(), ask);
    test::ChunkCollector sink;
    (*watch)->number_rings(0);
    (*watch)->drain(sink);
    sink.settle();
    std::vector<std::string> all;
    for (const auto& event : sink.events.events)
      all.push_back(
          fmt::format("{:x} {} {}", event.address & 0xffff, event.size, sink.events.text_of(event)));
    return all;
  }
  test::FakeOs os;
  LoadedPrograms loaded{{{0xffffffffc0000000, 5606, "bpf_prog_1_one"}}, true};
};

TEST_F(AskedPrograms, SayHowLongTheyAreAndKallsymsIsLeftAlone) {
  EXPECT_EQ(told([&](const os::Os&) { return loaded; }), std::vector<std::string>{"0 5606 bpf_prog_1_one"});
}

TEST_F(AskedPrograms, KallsymsAddsWhatTheyMayLack) {
  loaded.complete = false;
  EXPECT_EQ(told([&](const os::Os&) { return loaded; }),
            (std::vector<std::string>{"0 5606 bpf_prog_1_one", "2000 4096 bpf_trampoline_7"}));
}

TEST_F(AskedPrograms, KallsymsSaysAllWhereTheKernelDoesNotAnswer) {
  EXPECT_EQ(told([](const os::Os&) { return std::nullopt; }),
            (std::vector<std::string>{"0 4096 bpf_prog_1_one", "2000 4096 bpf_trampoline_7"}));
}

TEST(KernelWatch, NeedsEventsOfCpusAndNothingElse) {
  test::FakeOs os;
  os.set_online_cpus("0");
  auto watch = open_kernel_watch(os, kernel_watch_options());
  ASSERT_TRUE(watch.ok()) << "without kallsyms";
  test::ChunkCollector sink;
  (*watch)->number_rings(0);
  (*watch)->drain(sink);
  EXPECT_EQ(sink.bytes, 0u);
  os.fail_open = [](const perf_event_attr&, pid_t, int) { return EACCES; };
  EXPECT_FALSE(open_kernel_watch(os, kernel_watch_options()).ok());
}

}  // namespace
}  // namespace tailor::capture
