// Speaks to a pipeline::Input as a small host would: one ring, a clock of one tick a nanosecond, engines
// whose words are given as protobuf messages.
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/decode/register_masks.h"
#include "daemon/pipeline/input.h"
#include "tailor/thread_area.h"
#include "tests/support/record_encoder.h"

namespace tailor::test {

inline constexpr std::uint64_t kScriptKey = 0x5eed;

class ScriptedInput {
 public:
  // Samples have the fields of `also` too, which are empty. With `states` they bring those of slots.
  explicit ScriptedInput(pipeline::Input& input, std::uint64_t also = 0, bool states = false)
      : input_(input) {
    format_.sample_type = also | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                          PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
    format_.regs_user = (1u << 8) | (1u << 23);  // IP, R15
    if (states) format_.regs_user |= capture::kStatePlaces;
    format_.tag_register = 23;
    format_.period = 1000;
  }

  // Samples bring how the search for their callers ended: before open().
  void bring_walk_ends() { format_.regs_user |= capture::register_bit(capture::kWalkEndPlace); }

  // The clock and the ring: before anything else.
  void open(std::int32_t pid = -1, capture::RecordClock record_clock = capture::RecordClock::kMonotonicRaw,
            bool shared = false) {
    clock::Conversion piece;
    piece.mult = 1;
    input_.on_clock(piece, false);
    capture::RingLayout layout;
    layout.pid = pid;
    layout.clock = record_clock;
    layout.shared = shared;
    layout.formats.push_back(format_);
    input_.on_ring(layout);
  }

  void hello(ProcessId process, std::uint64_t connection, TimeNs time, const std::string& instance = "s1",
             v1::TagStrategy strategy = v1::TAGS_R15) {
    registration::PeerConnected event;
    event.connection = connection;
    event.process = process;
    event.received_tsc = static_cast<std::uint64_t>(time);
    event.hello.set_engine_name("engine");
    event.hello.set_tag_key(kScriptKey);
    event.hello.set_tag_strategy(strategy);
    event.hello.set_instance(instance);
    input_.on_connected(event);
    connection_of(process) = connection;
  }

  template <typename Fill>
  void say(ProcessId process, TimeNs time, Fill fill) {
    registration::PeerMessage event;
    event.connection = connection_of(process);
    event.process = process;
    event.received_tsc = static_cast<std::uint64_t>(time) + 50;
    event.message.set_tsc(static_cast<std::uint64_t>(time));
    fill(event.message);
    input_.on_message(event);
  }
  void load(ProcessId process, TimeNs time, const v1::Plan& plan) {
    say(process, time, [&](v1::AgentMessage& m) { *m.mutable_plan_load() = plan; });
  }
  void load(ProcessId process, TimeNs time, const v1::CodeObject& code) {
    say(process, time, [&](v1::AgentMessage& m) { *m.mutable_code_load() = code; });
  }
  void unload_code(ProcessId process, TimeNs time, CodeId id) {
    say(process, time, [&](v1::AgentMessage& m) { m.mutable_code_unload()->set_code_id(id); });
  }
  void unload_plan(ProcessId process, TimeNs time, PlanId id) {
    say(process, time, [&](v1::AgentMessage& m) { m.mutable_plan_unload()->set_plan_id(id); });
  }
  void begin(ProcessId process, TimeNs time, ExecutionHandle handle, PlanId plan) {
    say(process, time, [&](v1::AgentMessage& m) {
      m.mutable_execution_begin()->set_handle(handle);
      m.mutable_execution_begin()->set_id(std::string(16, static_cast<char>(handle)));
      m.mutable_execution_begin()->set_plan_id(plan);
    });
  }
  void end(ProcessId process, TimeNs time, ExecutionHandle handle, std::uint64_t rows = 0) {
    say(process, time, [&](v1::AgentMessage& m) {
      m.mutable_execution_end()->set_handle(handle);
      m.mutable_execution_end()->set_result_rows(rows);
    });
  }

  // The thread works for the execution from `from` to `to`.
  void work(ProcessId process, std::int32_t tid, TimeNs from, TimeNs to, ExecutionHandle handle,
            PlanId plan) {
    registration::ActivityRecords event;
    event.process = process;
    event.tid = tid;
    tailor_log_record record{};
    record.tsc = static_cast<std::uint64_t>(from);
    record.kind = TAILOR_LOG_EXECUTION_BEGIN;
    record.a = handle;
    record.b = plan;
    event.records.push_back(record);
    record.tsc = static_cast<std::uint64_t>(to);
    record.kind = TAILOR_LOG_EXECUTION_END;
    event.records.push_back(record);
    input_.on_activity(event);
  }
  void settle(ProcessId process, TimeNs time) {
    input_.on_settled({process, static_cast<std::uint64_t>(time)});
  }
  void gone(ProcessId process, registration::GoneReason reason) {
    input_.on_gone({connection_of(process), process, reason, ""});
  }

  // What the slot of its thread says of each sample from now on, where samples bring that.
  void slot_says(const tailor_thread_state& state) { state_ = state; }

  // The word in capture::kWalkEndPlace of each sample from now on, where samples bring it.
  void walk_ends(std::uint64_t word) { walk_end_ = word; }

  // Samples wait in the ring until read().
  void sample(std::int32_t pid, std::int32_t tid, TimeNs time, std::uint64_t ip, std::uint64_t r15 = 0) {
    SampleFields fields;
    fields.ip = ip;
    fields.pid = pid;
    fields.tid = tid;
    fields.time = static_cast<std::uint64_t>(time);
    fields.period = 1000;
    fields.user_registers = {ip, r15};
    if (format_.regs_user & capture::kStatePlaces)
      fields.user_registers.insert(fields.user_registers.end(), {state_.execution, state_.plan, state_.work});
    if (format_.regs_user & capture::register_bit(capture::kWalkEndPlace))
      fields.user_registers.push_back(walk_end_);
    append(chunk_.bytes, encode_sample(format_, fields));
  }
  void record(RecordBytes bytes, std::int32_t pid, TimeNs time) {
    SampleFields fields;
    fields.pid = fields.tid = pid;
    fields.time = static_cast<std::uint64_t>(time);
    append(chunk_.bytes, with_sample_id(std::move(bytes), format_, fields));
  }
  void map(std::int32_t pid, TimeNs time, std::uint64_t begin, std::uint64_t size, const std::string& path,
           std::uint32_t protection = PROT_READ | PROT_EXEC) {
    RecordBytes bytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    const auto number = static_cast<std::uint32_t>(pid);
    const std::uint64_t inode = path.starts_with("//") ? 0 : 77;
    bytes.u32(number).u32(number).u64(begin).u64(size).u64(0);
    bytes.u32(8).u32(1).u64(inode).u64(0).u32(protection).u32(MAP_PRIVATE).text(path);
    record(std::move(bytes), pid, time);
  }
  void executes(std::int32_t pid, TimeNs time) {
    RecordBytes bytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    bytes.u32(static_cast<std::uint32_t>(pid)).u32(static_cast<std::uint32_t>(pid)).text("other");
    record(std::move(bytes), pid, time);
  }
  void forks(std::int32_t parent, std::int32_t child, TimeNs time) {
    RecordBytes bytes(PERF_RECORD_FORK, 0);
    const auto from = static_cast<std::uint32_t>(parent), to = static_cast<std::uint32_t>(child);
    bytes.u32(to).u32(from).u32(to).u32(from).u64(static_cast<std::uint64_t>(time));
    record(std::move(bytes), parent, time);
  }
  // Whole records, as a kernel wrote them.
  void bytes(std::span<const std::byte> records) {
    chunk_.bytes.insert(chunk_.bytes.end(), records.begin(), records.end());
  }
  // What waits in the ring, for whoever gives it to the input later.
  capture::RingChunk take() { return std::exchange(chunk_, {}); }
  void read(TimeNs horizon = kTimeMax) {
    input_.on_chunk(chunk_);
    chunk_.bytes.clear();
    input_.on_round(horizon);
  }

 private:
  std::uint64_t& connection_of(ProcessId process) {
    for (auto& [known, connection] : connections_) {
      if (known == process) return connection;
    }
    return connections_.emplace_back(process, 0).second;
  }

  pipeline::Input& input_;
  tailor_thread_state state_ = {TAILOR_NO_STATE, capture::kNoSlot, 0};
  std::uint64_t walk_end_ = 0;
  capture::EventFormat format_;
  capture::RingChunk chunk_;
  std::vector<std::pair<ProcessId, std::uint64_t>> connections_;
};

}  // namespace tailor::test
