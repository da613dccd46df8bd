#include "daemon/store/sample_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/store/block.h"
#include "daemon/store/columns.h"
#include "daemon/store/stack_table.h"
#include "daemon/store/thread_table.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

constexpr std::uint32_t kAttributionVersion = 2;  // of the rules
constexpr std::uint32_t kModeMask = 3;
constexpr std::uint32_t kFlagTag = 4;
constexpr std::uint32_t kWaitShift = 3;
constexpr std::uint32_t kAccessMask = 3;
constexpr int kMaxBlockFrames = 1 << 23;

// Numbers 1, 2, ... for the nonzero values of a column, 0 for zero.
class SparseNumbering {
 public:
  template <typename Values>
  std::uint32_t of(std::uint64_t value, Values& values) {
    if (value == 0) return 0;
    const auto [number, added] = numbers_.of(value);
    if (added) values.Add(value);
    return number + 1;
  }

 private:
  Numbering<std::uint64_t> numbers_;
};

std::uint32_t verdict_of(const profile::Attribution& a) {
  return static_cast<std::uint32_t>(a.how) | static_cast<std::uint32_t>(a.reason) << 4 |
         static_cast<std::uint32_t>(a.quality) << 8 | static_cast<std::uint32_t>(a.kernel) << 12;
}

void encode_attribution(std::span<const profile::SampleRecord> samples, v1::AttributionColumns& out) {
  out.set_version(kAttributionVersion);
  const std::size_t rows = samples.size();
  SparseNumbering plans, codes, executions;
  ColumnWriter verdict(*out.mutable_verdict(), rows), pipeline(*out.mutable_pipeline(), rows),
      level(*out.mutable_level(), rows), component(*out.mutable_engine_component(), rows),
      plan(*out.mutable_plan(), rows), code(*out.mutable_code(), rows),
      execution(*out.mutable_execution(), rows);
  ColumnWriter link(*out.mutable_link(), rows);
  std::uint32_t link_before = 0;
  for (const profile::SampleRecord& s : samples) {
    const profile::Attribution& a = s.attribution;
    verdict.add(verdict_of(a));
    pipeline.add(a.pipeline);
    level.add(a.level);
    link.add(static_cast<std::int64_t>(a.link) - static_cast<std::int64_t>(link_before));
    component.add(a.engine_component);
    plan.add(plans.of(a.plan, *out.mutable_plans()));
    code.add(codes.of(a.code, *out.mutable_codes()));
    execution.add(executions.of(a.execution, *out.mutable_executions()));
    link_before = a.link;
  }
  for (auto* column : {&verdict, &pipeline, &level, &component, &plan, &code, &execution}) column->finish();
  link.finish();
}

bool decode_verdict(std::uint32_t verdict, profile::Attribution& a) {
  const std::uint32_t how = verdict & 0xF, reason = (verdict >> 4) & 0xF, quality = (verdict >> 8) & 0xF;
  if (how > static_cast<std::uint32_t>(profile::How::kTagUnwound)) return false;
  if (quality > static_cast<std::uint32_t>(profile::Quality::kTwoNames) || verdict >> 13) return false;
  a.how = static_cast<profile::How>(how);
  // A newer version may have more reasons. No figure depends on them.
  a.reason = static_cast<profile::Reason>(reason);
  a.quality = static_cast<profile::Quality>(quality);
  a.kernel = (verdict >> 12) & 1;
  return true;
}

// The value that `number` stands for; false where there is none.
template <typename Values>
bool look_up(const Values& values, std::uint32_t number, std::uint64_t& out) {
  if (number == 0) return true;
  if (number > static_cast<std::uint32_t>(values.size())) return false;
  out = values.Get(static_cast<int>(number - 1));
  return true;
}

Error broken(const char* what) {
  return internal(fmt::format("samples: {}", what));
}

Status decode_attribution(const v1::AttributionColumns& in, std::vector<profile::SampleRecord>& samples) {
  const auto rows = static_cast<std::uint32_t>(samples.size());
  const ColumnReader verdict(in.verdict(), rows), pipeline(in.pipeline(), rows), level(in.level(), rows),
      component(in.engine_component(), rows), plan(in.plan(), rows), code(in.code(), rows),
      execution(in.execution(), rows);
  const ColumnReader link(in.link(), rows);
  if (!verdict.valid() || !pipeline.valid() || !level.valid() || !component.valid() || !plan.valid() ||
      !code.valid() || !execution.valid() || !link.valid()) {
    return broken("a column of the attribution has another number of rows");
  }
  std::uint64_t running_link = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    profile::Attribution& a = samples[row].attribution;
    if (!decode_verdict(verdict.at(row), a)) return broken("unknown verdict");
    if (pipeline.at(row) > UINT16_MAX) return broken("a pipeline exceeds 16 bits");
    running_link += static_cast<std::uint64_t>(link.at(row));
    if (running_link > UINT32_MAX) return broken("a link exceeds 32 bits");
    a.pipeline = static_cast<std::uint16_t>(pipeline.at(row));
    a.level = level.at(row);
    a.link = static_cast<std::uint32_t>(running_link);
    a.engine_component = component.at(row);
    if (!look_up(in.plans(), plan.at(row), a.plan) || !look_up(in.codes(), code.at(row), a.code) ||
        !look_up(in.executions(), execution.at(row), a.execution)) {
      return broken("an index leads past its table");
    }
  }
  return Ok{};
}

void encode_stacks(std::span<const profile::SampleRecord> samples, v1::SampleBlock& out) {
  if (std::ranges::all_of(samples, [](const profile::SampleRecord& s) { return s.stack == nullptr; })) return;
  StackTable table;
  for (const profile::SampleRecord& s : samples) out.add_stack(table.number(table.intern(s.stack)));
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const profile::StackFrame& frame = table.at(i);
    out.add_frame_caller(table.number(frame.caller));
    out.add_frame_address(wrapping_difference(frame.address, address));
    address = frame.address;
  }
  shrink_column(*out.mutable_stack());
}

// A chain that is longer than any writer makes is cut where it becomes so.
Status decode_stacks(const v1::SampleBlock& in, DecodedSamples& out) {
  const auto rows = static_cast<std::uint32_t>(out.samples.size());
  const ColumnReader stack(in.stack(), rows);
  const int frames = in.frame_caller_size();
  if (!stack.valid() || in.frame_address_size() != frames || frames > kMaxBlockFrames) {
    return broken("the tree of call chains does not fit its columns");
  }
  out.frames.resize(static_cast<std::size_t>(frames));
  std::vector<std::uint16_t> depths(out.frames.size());
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < out.frames.size(); ++i) {
    const std::uint32_t caller = in.frame_caller(static_cast<int>(i));
    if (caller > i) return broken("a frame's caller does not come before it");
    address += static_cast<std::uint64_t>(in.frame_address(static_cast<int>(i)));
    out.frames[i].address = address;
    if (caller == 0) continue;
    if (depths[caller - 1] + 1u >= kMostStackFrames) return broken("a call chain is too deep");
    depths[i] = static_cast<std::uint16_t>(depths[caller - 1] + 1);
    out.frames[i].caller = &out.frames[caller - 1];
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t number = stack.at(row);
    if (number > out.frames.size()) return broken("a call chain leads past the frames");
    if (number != 0) out.samples[row].stack = &out.frames[number - 1];
  }
  return Ok{};
}

}  // namespace

v1::SampleBlock encode_samples(std::span<const profile::SampleRecord> samples) {
  v1::SampleBlock out;
  encode_stacks(samples, out);
  out.set_block_rows(static_cast<std::uint32_t>(samples.size()));
  const std::size_t rows = samples.size();
  ThreadTableWriter threads(*out.mutable_threads());
  SparseNumbering tags;
  ColumnWriter thread(*out.mutable_thread(), rows), cpu(*out.mutable_cpu(), rows),
      source(*out.mutable_source(), rows), flags(*out.mutable_flags(), rows), tag(*out.mutable_tag(), rows),
      access(*out.mutable_access(), rows), region(*out.mutable_region(), rows),
      latency(*out.mutable_latency(), rows), engine_wait(*out.mutable_engine_wait(), rows);
  ColumnWriter time(*out.mutable_time(), rows), ip(*out.mutable_ip(), rows),
      user_ip(*out.mutable_user_ip(), rows), address(*out.mutable_address(), rows);
  ColumnWriter weight(*out.mutable_weight(), rows), data_source(*out.mutable_data_source(), rows);
  TimeNs time_before = 0;
  std::uint64_t ip_before = 0, address_before = 0;
  for (const profile::SampleRecord& s : samples) {
    thread.add(threads.of(s.process, s.tid));
    time.add(
        wrapping_difference(static_cast<std::uint64_t>(s.time), static_cast<std::uint64_t>(time_before)));
    cpu.add(s.cpu);
    source.add(s.source);
    flags.add(static_cast<std::uint32_t>(s.mode) | (s.has_tag ? kFlagTag : 0) |
              static_cast<std::uint32_t>(s.wait) << kWaitShift);
    weight.add(s.weight);
    ip.add(wrapping_difference(s.ip, ip_before));
    user_ip.add(wrapping_difference(s.user_ip, s.ip));
    tag.add(tags.of(s.tag, *out.mutable_tags()));
    address.add(wrapping_difference(s.address, address_before));
    access.add(static_cast<std::uint32_t>(s.address_from) | static_cast<std::uint32_t>(s.skid) << 2);
    region.add(s.region);
    latency.add(s.latency);
    data_source.add(s.data_source);
    engine_wait.add(s.engine_wait);
    time_before = s.time;
    ip_before = s.ip;
    address_before = s.address;
  }
  for (auto* column : {&thread, &cpu, &source, &flags, &tag, &access, &region, &latency, &engine_wait})
    column->finish();
  for (auto* column : {&time, &ip, &user_ip, &address}) column->finish();
  for (auto* column : {&weight, &data_source}) column->finish();
  encode_attribution(samples, *out.mutable_attribution());
  return out;
}

Result<DecodedSamples> decode_samples(const v1::SampleBlock& in) {
  const std::uint32_t rows = in.block_rows();
  if (rows > kMaxBlockRows) return broken("more rows than a block may have");
  const ColumnReader thread(in.thread(), rows), cpu(in.cpu(), rows), source(in.source(), rows),
      flags(in.flags(), rows), tag(in.tag(), rows), access(in.access(), rows), region(in.region(), rows),
      latency(in.latency(), rows), engine_wait(in.engine_wait(), rows);
  const ColumnReader time(in.time(), rows), ip(in.ip(), rows), user_ip(in.user_ip(), rows),
      address(in.address(), rows);
  const ColumnReader weight(in.weight(), rows), data_source(in.data_source(), rows);
  if (!thread.valid() || !cpu.valid() || !source.valid() || !flags.valid() || !tag.valid() || !time.valid() ||
      !ip.valid() || !user_ip.valid() || !address.valid() || !weight.valid() || !access.valid() ||
      !region.valid() || !latency.valid() || !data_source.valid() || !engine_wait.valid()) {
    return broken("a column has another number of rows");
  }
  DecodedSamples out;
  std::vector<profile::SampleRecord>& samples = out.samples;
  samples.resize(rows);
  std::uint64_t running_time = 0, running_ip = 0, running_address = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    profile::SampleRecord& s = samples[row];
    if (!thread_at(in.threads(), thread.at(row), s.process, s.tid)) return broken("no such thread");
    const std::uint32_t flag = flags.at(row);
    if ((flag & kModeMask) > static_cast<std::uint32_t>(profile::Mode::kOther) ||
        flag >> kWaitShift >= profile::kWaits) {
      return broken("unknown flags");
    }
    if (source.at(row) > UINT16_MAX) return broken("a source exceeds 16 bits");
    running_time += static_cast<std::uint64_t>(time.at(row));
    running_ip += static_cast<std::uint64_t>(ip.at(row));
    running_address += static_cast<std::uint64_t>(address.at(row));
    s.time = static_cast<TimeNs>(running_time);
    s.cpu = cpu.at(row);
    s.source = static_cast<std::uint16_t>(source.at(row));
    s.mode = static_cast<profile::Mode>(flag & kModeMask);
    s.has_tag = (flag & kFlagTag) != 0;
    s.wait = static_cast<profile::Wait>(flag >> kWaitShift);
    s.engine_wait = engine_wait.at(row);
    s.weight = weight.at(row);
    s.ip = running_ip;
    s.user_ip = running_ip + static_cast<std::uint64_t>(user_ip.at(row));
    s.address = running_address;
    const std::uint32_t how = access.at(row);
    if ((how & kAccessMask) > static_cast<std::uint32_t>(profile::AddressFrom::kOperand) ||
        how >> 2 > UINT8_MAX) {
      return broken("an unknown way to an address");
    }
    s.address_from = static_cast<profile::AddressFrom>(how & kAccessMask);
    s.skid = static_cast<std::uint8_t>(how >> 2);
    s.region = region.at(row);
    s.latency = latency.at(row);
    s.data_source = data_source.at(row);
    if (!look_up(in.tags(), tag.at(row), s.tag)) return broken("an index leads past the tags");
  }
  if (auto ok = decode_attribution(in.attribution(), samples); !ok) return ok.error();
  if (auto ok = decode_stacks(in, out); !ok) return ok.error();
  return out;
}

}  // namespace tailor::store
