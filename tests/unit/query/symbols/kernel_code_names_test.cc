// Names of code that the kernel loaded while it ran: of what was there when a sample was taken.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "daemon/query/load/hit_functions.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/function_report.h"

namespace tailor::query {
namespace {

constexpr std::uint64_t kLoadedCode = 0xffffffffc0100000;
const ProcessId kSampled{7, 1};

class KernelCodeNames : public testing::Test {
 protected:
  KernelCodeNames() {
    profile::RecordingInfo info;
    info.kernel = "another kernel";
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false});
    loader.on_recording(info);
    profile::ProcessRecord process;
    process.process = kSampled;
    loader.on_process(process);
  }
  void load(TimeNs time, const std::string& path, std::uint64_t begin = kLoadedCode, ProcessId process = {}) {
    loader.on_mapping({process, time, begin, 0x100, 0, path});
  }
  profile::SampleRecord at(TimeNs time, std::uint64_t address) const {
    profile::SampleRecord sample;
    sample.process = kSampled;
    sample.time = time;
    sample.weight = 100;
    sample.mode = profile::Mode::kKernel;
    sample.ip = address;
    return sample;
  }
  void sample(TimeNs time, std::uint64_t address = kLoadedCode + 0x10) {
    const profile::SampleRecord one = at(time, address);
    loader.on_samples(std::span(&one, 1));
  }
  // Weight by function and object.
  std::map<std::pair<std::string, std::string>, double> functions() {
    std::map<std::pair<std::string, std::string>, double> out;
    const auto report = function_report(loader.finish(), {});
    EXPECT_TRUE(report.ok()) << report.error().message;
    for (const FunctionRow& row : report->functions)
      out[{row.name, row.function.object}] += row.cost.amount.weight;
    return out;
  }

  ProfileLoader loader{[] {
    LoadOptions options;
    options.functions = true;
    return options;
  }()};
};

TEST_F(KernelCodeNames, AreThoseOfTheirTime) {
  sample(1);
  load(10, "[bpf] bpf_prog_1_one");
  sample(11);
  sample(12, kLoadedCode + 0xff);
  sample(13, kLoadedCode + 0x100);
  load(20, "");
  sample(21);
  load(30, "[bpf] bpf_prog_2_two");
  sample(31);
  const auto told = functions();
  EXPECT_EQ((told.at({"bpf_prog_1_one", "[bpf]"})), 200);
  EXPECT_EQ((told.at({"bpf_prog_2_two", "[bpf]"})), 100);
  EXPECT_EQ((told.at({"[unknown]", "[kernel]"})), 300) << "before, behind its end and when it was gone";
}

// The twin: whoever looks at the end alone gives all to the last one.
TEST_F(KernelCodeNames, WithoutTimesAllAreTheLastOne) {
  load(0, "[bpf] bpf_prog_1_one");
  load(0, "");
  load(0, "[bpf] bpf_prog_2_two");
  for (const TimeNs time : {1, 11, 21, 31}) sample(time);
  EXPECT_EQ((functions().at({"bpf_prog_2_two", "[bpf]"})), 400);
}

// Loaded again elsewhere, it is the same function.
TEST_F(KernelCodeNames, OneFunctionWhereverItLies) {
  load(10, "[bpf] bpf_prog_1_one");
  load(10, "[bpf] bpf_prog_1_one", kLoadedCode + 0x1000);
  load(10, "[kernel] ftrace_trampoline", kLoadedCode + 0x2000);
  sample(11);
  sample(12, kLoadedCode + 0x1010);
  sample(13, kLoadedCode + 0x2010);
  const auto told = functions();
  EXPECT_EQ((told.at({"bpf_prog_1_one", "[bpf]"})), 200);
  EXPECT_EQ((told.at({"ftrace_trampoline", "[kernel]"})), 100);
}

// What a process maps says nothing of the kernel.
TEST_F(KernelCodeNames, MappingsOfProcessesNameNothing) {
  load(10, "[bpf] bpf_prog_of_a_process", kLoadedCode, kSampled);
  load(10, "/memfd:of nobody");
  sample(11);
  EXPECT_EQ((functions().at({"[unknown]", "[kernel]"})), 100);
}

}  // namespace
}  // namespace tailor::query
