#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/profile/forwarding_sink.h"
#include "daemon/profile/ignoring_sink.h"
#include "daemon/profile/tee_sink.h"

namespace tailor::profile {
namespace {

// The names of the calls, with the process they are of where they name one.
class CallLog : public ProfileSink {
 public:
  std::vector<std::string> calls;

  void on_recording(const RecordingInfo& v) override { note("recording " + v.host); }
  void on_process(const ProcessRecord& v) override { note("process", v.process); }
  void on_thread(ProcessId p, std::int32_t, const std::string& v) override { note("thread " + v, p); }
  void on_component(ProcessId p, std::uint32_t, const std::string& v) override { note("component " + v, p); }
  void on_mapping(const MappingRecord& v) override { note("mapping " + v.path, v.process); }
  void on_names(const FileNames& v) override { note("names " + v.path); }
  void on_region_kind(ProcessId p, const v1::RegionKind& v) override { note("region " + v.name(), p); }
  void on_plan(ProcessId p, TimeNs t, const v1::Plan& v) override {
    note("plan " + v.name() + " " + std::to_string(t), p);
  }
  void on_code(ProcessId p, TimeNs t, const v1::CodeObject& v) override {
    note("code " + v.name() + " " + std::to_string(t), p);
  }
  void on_code_unload(ProcessId p, TimeNs t, CodeId v) override {
    note("unload " + std::to_string(v) + " " + std::to_string(t), p);
  }
  void on_execution(const ExecutionRecord& v) override { note("execution", v.process); }
  void on_samples(std::span<const SampleRecord> v) override { note("samples " + std::to_string(v.size())); }
  void on_activity(std::span<const ActivityRecord> v) override {
    note("activity " + std::to_string(v.size()));
  }
  void on_accounting(const Accounting& v) override { note("accounting", v.process); }
  void on_watermark(TimeNs v) override { note("watermark " + std::to_string(v)); }

 private:
  void note(const std::string& what, ProcessId process = {}) {
    calls.push_back(what + " " + std::to_string(process.pid));
  }
};

constexpr std::size_t kCalls = 17;  // give_all() makes

void give_all(ProfileSink& sink) {
  const ProcessId process{7, 1};
  RecordingInfo info;
  info.host = "db7";
  ProcessRecord record;
  record.process = process;
  MappingRecord mapping;
  mapping.process = process;
  mapping.path = "/lib/x.so";
  FileNames names;
  names.path = "/lib/y.so";
  v1::RegionKind kind;
  kind.set_name("rows");
  auto plan = std::make_shared<v1::Plan>();
  plan->set_name("q1");
  auto code = std::make_shared<v1::CodeObject>();
  code->set_name("c1");
  ExecutionRecord execution;
  execution.process = process;
  Accounting account;
  account.process = process;
  const std::vector<SampleRecord> samples(3);
  const std::vector<ActivityRecord> activity(2);
  sink.on_recording(info);
  sink.on_process(record);
  sink.on_thread(process, 8, "worker");
  sink.on_component(process, 1, "parser");
  sink.on_mapping(mapping);
  sink.on_names(names);
  sink.on_region_kind(process, kind);
  sink.on_plan(process, 10, *plan);
  sink.on_shared_plan(process, 11, plan);
  sink.on_code(process, 12, *code);
  sink.on_shared_code(process, 13, code);
  sink.on_code_unload(process, 14, 5);
  sink.on_execution(execution);
  sink.on_samples(samples);
  sink.on_activity(activity);
  sink.on_accounting(account);
  sink.on_watermark(15);
}

std::vector<std::string> given() {
  CallLog log;
  give_all(log);
  return log.calls;
}

TEST(ForwardingSink, GivesEachCallOnce) {
  CallLog log;
  ForwardingSink sink(log);
  give_all(sink);
  EXPECT_EQ(log.calls.size(), kCalls);
  EXPECT_EQ(log.calls, given());
}

TEST(TeeSink, GivesEachCallToAll) {
  CallLog one, other;
  TeeSink sink({&one, &other});
  give_all(sink);
  EXPECT_EQ(one.calls, given());
  EXPECT_EQ(other.calls, given());
}

// Those that it overrides it hears, large plans among them.
TEST(IgnoringSink, NeedsNoneOfTheCalls) {
  class OfPlans : public IgnoringSink {
   public:
    void on_plan(ProcessId, TimeNs t, const v1::Plan&) override { times.push_back(t); }
    std::vector<TimeNs> times;
  };
  OfPlans sink;
  give_all(sink);
  EXPECT_EQ(sink.times, (std::vector<TimeNs>{10, 11}));
}

// A large plan or code object comes by another call, and is held back as a small one.
TEST(ForwardingSink, WhatHoldsPlansBackHoldsLargeOnesBackToo) {
  class WithoutPlans : public ForwardingSink {
   public:
    using ForwardingSink::ForwardingSink;
    void on_plan(ProcessId, TimeNs, const v1::Plan&) override {}
    void on_code(ProcessId, TimeNs, const v1::CodeObject&) override {}
  };
  CallLog log;
  WithoutPlans sink(log);
  give_all(sink);
  EXPECT_EQ(log.calls.size(), kCalls - 4);
  for (const std::string& call : log.calls) {
    EXPECT_FALSE(call.starts_with("plan ")) << call;
    EXPECT_FALSE(call.starts_with("code ")) << call;
  }
}

}  // namespace
}  // namespace tailor::profile
