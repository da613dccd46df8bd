#include "tests/support/sample_profile.h"

#include <initializer_list>

namespace tailor::test {
namespace {

std::uint32_t one(std::uint32_t id) {
  return id << 1;
}
std::uint32_t set(std::uint32_t number) {
  return number << 1 | 1;
}

v1::Component& add_component(v1::Level& level, const char* name, const char* kind,
                             std::initializer_list<std::uint32_t> inputs = {}) {
  v1::Component& component = *level.add_components();
  level.set_component_count(level.component_count() + 1);
  component.set_id(level.component_count());
  component.set_name(name);
  component.set_kind(kind);
  for (std::uint32_t input : inputs) component.add_inputs(input);
  return component;
}

void add_attribute(v1::Component& component, const char* key, const char* text) {
  v1::Attribute& attribute = *component.add_attributes();
  attribute.set_key(key);
  attribute.set_text(text);
}

void add_operators(v1::Level& level) {
  level.set_name("operator");
  add_attribute(add_component(level, "Group by", "group_by", {2}), "keys", "l_orderkey");
  add_attribute(add_component(level, "Hash join", "hash_join", {3, 5}), "predicate",
                "o_orderkey = l_orderkey");
  add_attribute(add_component(level, "Filter", "filter", {4}), "predicate", "o_orderdate < '1995-01-01'");
  v1::Component& orders = add_component(level, "Table scan", "scan");
  add_attribute(orders, "table", "orders");
  v1::Attribute& rows = *orders.add_attributes();
  rows.set_key("estimated_rows");
  rows.set_number(15000);
  add_attribute(add_component(level, "Table scan", "scan"), "table", "lineitem");
}

void add_tasks(v1::Level& level) {
  level.set_name("task");
  const std::pair<const char*, std::uint32_t> tasks[] = {
      {"build", 2}, {"filter", 3}, {"scan orders", 4}, {"scan lineitem", 5}, {"probe", 2}, {"aggregate", 1}};
  for (const auto& [name, op] : tasks) {
    add_component(level, name, "task");
    level.add_links(one(op));
  }
}

void add_set(google::protobuf::RepeatedPtrField<v1::LinkSet>& sets,
             std::initializer_list<std::uint32_t> ids) {
  v1::LinkSet& added = *sets.Add();
  for (std::uint32_t id : ids) added.add_ids(id);
}

void add_instructions(v1::Level& level) {
  level.set_name("ir");
  level.set_component_count(10);
  for (std::uint32_t link : {one(3), one(2), one(1), one(4), one(5), one(6), one(6), set(0), set(1), 0u}) {
    level.add_links(link);
  }
  add_set(*level.mutable_link_sets(), {5, 6});
  add_set(*level.mutable_link_sets(), {1, 5});
}

void add_pipeline(v1::Plan& plan, const char* name, std::initializer_list<std::uint32_t> tasks,
                  std::initializer_list<std::uint32_t> depends_on) {
  v1::Pipeline& pipeline = *plan.add_pipelines();
  pipeline.set_id(static_cast<std::uint32_t>(plan.pipelines_size()));
  pipeline.set_name(name);
  pipeline.set_task_level(1);
  for (std::uint32_t task : tasks) pipeline.add_tasks(task);
  for (std::uint32_t other : depends_on) pipeline.add_depends_on(other);
}

void add_attachment(v1::Plan& plan, const char* kind, char hash, const std::string& content) {
  v1::Attachment& attachment = *plan.add_attachments();
  attachment.set_kind(kind);
  attachment.set_sha256(std::string(32, hash));
  attachment.set_content(content);
}

profile::SampleRecord base_sample(TimeNs time) {
  profile::SampleRecord sample;
  sample.time = time;
  sample.process = kSampleProcess;
  sample.tid = 4243;
  sample.cpu = 1;
  sample.weight = 1'000'000;
  sample.ip = sample.user_ip = 0x7f00'0000'1000 + static_cast<std::uint64_t>(time % 97);
  return sample;
}

}  // namespace

v1::Plan sample_plan() {
  v1::Plan plan;
  plan.set_id(kSamplePlan);
  plan.set_slot(7);
  plan.set_generation(1);
  plan.set_name("figure-9");
  add_operators(*plan.add_levels());
  add_tasks(*plan.add_levels());
  add_instructions(*plan.add_levels());
  add_pipeline(plan, "orders", {3, 2, 1}, {});
  add_pipeline(plan, "lineitem", {4, 5, 6}, {1});
  plan.set_tag_upper_level(0);
  plan.set_tag_lower_level(1);
  plan.set_has_tag_lower_level(true);
  add_attachment(plan, "sql", 's', "select l_orderkey, avg(l_discount) from lineitem, orders group by 1");
  return plan;
}

v1::CodeObject sample_code() {
  v1::CodeObject code;
  code.set_id(kSampleCode);
  code.set_plan_id(kSamplePlan);
  code.set_base(0x7f00'0000'1000);
  code.set_code(std::string(128, '\x90'));
  code.set_name("main");
  code.set_tier("O2");
  add_set(*code.mutable_rows()->mutable_link_sets(), {4, 6});
  return code;
}

profile::SampleRecord ir_sample(TimeNs time, std::uint32_t ir) {
  profile::SampleRecord sample = base_sample(time);
  sample.attribution.how = profile::How::kCode;
  sample.attribution.quality = ir == 0 ? profile::Quality::kPrologue : profile::Quality::kExact;
  sample.attribution.level = 2;
  sample.attribution.link = ir << 1;
  sample.attribution.plan = kSamplePlan;
  sample.attribution.code = kSampleCode;
  sample.attribution.execution = kSampleExecution;
  sample.attribution.pipeline = ir <= 3 ? 1 : 2;
  return sample;
}

profile::SampleRecord shared_sample(TimeNs time) {
  profile::SampleRecord sample = ir_sample(time, 4);
  sample.attribution.link = 0 << 1 | 1;
  sample.attribution.quality = profile::Quality::kShared;
  return sample;
}

profile::SampleRecord tag_sample(TimeNs time, std::uint32_t task) {
  profile::SampleRecord sample = base_sample(time);
  sample.has_tag = true;
  sample.tag = 0xABCD'0007'1000'0000 | task;
  sample.attribution = ir_sample(time, 5).attribution;
  sample.attribution.how = profile::How::kTag;
  sample.attribution.code = 0;
  sample.attribution.level = 1;
  sample.attribution.link = task << 1;
  return sample;
}

profile::SampleRecord component_sample(TimeNs time, std::uint32_t component) {
  profile::SampleRecord sample = base_sample(time);
  sample.attribution.how = profile::How::kComponentInterval;
  sample.attribution.engine_component = component;
  sample.attribution.execution = kSampleExecution;
  return sample;
}

profile::SampleRecord unattributed_sample(TimeNs time, profile::Reason reason) {
  profile::SampleRecord sample = base_sample(time);
  sample.mode = profile::Mode::kKernel;
  sample.attribution.kernel = true;
  sample.attribution.reason = reason;
  sample.attribution.execution = kSampleExecution;
  return sample;
}

void give_context(profile::ProfileSink& sink) {
  profile::RecordingInfo info;
  info.host = "testhost";
  info.kernel = "6.1.0";
  info.daemon_version = "0.1.0";
  info.start = kSampleStart;
  info.wall_clock_ns = 1'700'000'000'000'000'000;
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
  info.sampling_notes = "timer per thread; tag from r15";
  info.clock_source = "calibration";
  info.clock_error_ns = 120;
  sink.on_recording(info);
  profile::ProcessRecord process;
  process.process = kSampleProcess;
  process.comm = "weft";
  process.engine_name = "weft";
  process.engine_version = "0.1.0";
  process.first_seen = process.registered = kSampleStart;
  sink.on_process(process);
  sink.on_thread(kSampleProcess, 4243, "worker-1");
  sink.on_component(kSampleProcess, 1, "compile");
  sink.on_component(kSampleProcess, 2, "schedule");
  sink.on_plan(kSampleProcess, kSampleStart, sample_plan());
  sink.on_code(kSampleProcess, kSampleStart, sample_code());
  profile::ExecutionRecord execution;
  execution.process = kSampleProcess;
  execution.handle = kSampleExecution;
  execution.id.bytes.fill(0xE1);
  execution.plan = kSamplePlan;
  execution.begin = kSampleStart;
  execution.labels = {{"user", "ada"}, {"query", "select 1"}};
  sink.on_execution(execution);
}

void give_profile(profile::ProfileSink& sink, int rounds) {
  give_context(sink);
  TimeNs time = kSampleStart;
  std::vector<profile::SampleRecord> samples;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint32_t ir = 0; ir <= 10; ++ir) samples.push_back(ir_sample(time += 1'000'003, ir));
    samples.push_back(shared_sample(time += 999'998));
    samples.push_back(tag_sample(time += 1'000'001, 6));
    samples.push_back(component_sample(time += 1'000'000, 1));
    samples.push_back(component_sample(time += 1'000'000, 2));
    samples.push_back(unattributed_sample(time += 1'000'000, profile::Reason::kUnknownKernel));
  }
  sink.on_samples(samples);
  const profile::ActivityRecord marks[] = {
      {kSampleStart, kSampleProcess, 4243, TAILOR_LOG_EXECUTION_BEGIN, 0, kSampleExecution, kSamplePlan},
      {time, kSampleProcess, 4243, TAILOR_LOG_EXECUTION_END, 0, kSampleExecution, 0}};
  sink.on_activity(marks);
  profile::ExecutionRecord execution;
  execution.process = kSampleProcess;
  execution.handle = kSampleExecution;
  execution.id.bytes.fill(0xE1);
  execution.plan = kSamplePlan;
  execution.begin = kSampleStart;
  execution.end = time;
  execution.rows = 10;
  execution.labels = {{"user", "ada"}, {"query", "select 1"}};
  sink.on_execution(execution);
  profile::Accounting accounting;
  accounting.process = kSampleProcess;
  accounting.received = samples.size();
  accounting.unattributed = static_cast<std::uint64_t>(rounds);
  accounting.attributed = samples.size() - static_cast<std::size_t>(rounds);
  sink.on_accounting(accounting);
  sink.on_watermark(time);
}

}  // namespace tailor::test
