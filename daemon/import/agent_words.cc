#include "daemon/import/agent_words.h"

#include <algorithm>
#include <utility>

#include "daemon/journal/journal_codec.h"
#include "proto/base/errors.h"

namespace tailor::importer {

// Takes what agents say out of all inputs, and the time that passes meanwhile. Samples, their rings and their
// ends are somebody else's.
class AgentWords::Listening : public pipeline::Input {
 public:
  void speak_to(pipeline::Pipeline& to) { to_ = &to; }
  // From now on time passes for the pipeline too: it has a ring.
  void let_time_pass() { passing_ = true; }

  void on_recording(const profile::RecordingInfo& info) override { recording = info; }
  void on_clock(const clock::Conversion& piece, bool restarted) override { to_->on_clock(piece, restarted); }
  void on_perf_clock(const clock::Conversion& /*line*/) override {}
  void on_known_process(const pipeline::KnownProcess& process) override { to_->on_known_process(process); }
  void on_ring(const capture::RingLayout& /*layout*/) override {}
  void on_chunk(const capture::RingChunk& /*chunk*/) override {}
  void on_round(TimeNs /*horizon*/) override {}
  void on_ring_closed(capture::RingIndex /*ring*/) override {}
  void on_connected(const registration::PeerConnected& event) override { to_->on_connected(event); }
  void on_message(const registration::PeerMessage& event) override {
    plans += event.said().has_plan_load() ? 1 : 0;
    codes += event.said().has_code_load() ? 1 : 0;
    to_->on_message(event);
  }
  void on_activity(const registration::ActivityRecords& event) override { to_->on_activity(event); }
  void on_settled(const registration::Settled& event) override { to_->on_settled(event); }
  void on_rejected(const registration::PeerRejected& event) override { to_->on_rejected(event); }
  void on_agent_dropped(ProcessId process, std::uint64_t messages) override {
    to_->on_agent_dropped(process, messages);
  }
  void on_agent_unsent(ProcessId process, std::uint64_t messages) override {
    to_->on_agent_unsent(process, messages);
  }
  void on_gone(const registration::PeerGone& event) override { to_->on_gone(event); }
  void on_capture_ended(const pipeline::CaptureEnded& /*event*/) override {}
  void on_process_ended(ProcessId process) override { to_->on_process_ended(process); }
  void on_names(const profile::FileNames& /*names*/) override {}
  void advance(TimeNs time) override { passed(time); }
  void flush(TimeNs time) override { passed(time); }

  profile::RecordingInfo recording;
  TimeNs first = kTimeMin, last = kTimeMin;
  std::uint64_t plans = 0, codes = 0;

 private:
  void passed(TimeNs time) {
    if (first == kTimeMin) first = time;
    last = std::max(last, time);
    if (passing_) to_->advance(time);
  }

  pipeline::Pipeline* to_ = nullptr;
  bool passing_ = false;
};

struct AgentWords::State {
  explicit State(store::Input& journal) : reader(journal) {}

  // Up to the record after which `enough`.
  template <typename Enough>
  Status tell(pipeline::Pipeline& to, const Enough& enough) {
    listening.speak_to(to);
    v1::JournalRecord record;
    while (!ended && !enough()) {
      auto more = reader.next(record);
      if (!more) return more.error();
      ended = !*more || record.has_end();
      if (ended) break;
      if (record.has_start()) return reader.damage("is out of place");
      if (Status given = journal::deliver(record, listening); !given.ok())
        return reader.damage("makes no sense: " + given.error().message);
    }
    return Ok{};
  }

  journal::JournalReader reader;
  pipeline::PipelineOptions options;
  Listening listening;
  bool ended = false;
};

AgentWords::AgentWords(std::unique_ptr<State> state) : state_(std::move(state)) {}
AgentWords::AgentWords(AgentWords&&) noexcept = default;
AgentWords& AgentWords::operator=(AgentWords&&) noexcept = default;
AgentWords::~AgentWords() = default;

Result<AgentWords> AgentWords::open(store::Input& journal) {
  auto state = std::make_unique<State>(journal);
  if (Status header = state->reader.check_header(); !header) return header.error();
  v1::JournalRecord record;
  auto first = state->reader.next(record);
  if (!first) return first.error();
  if (!*first || !record.has_start()) return state->reader.damage("is no begin");
  state->options = journal::decode(record.start());
  return AgentWords(std::move(state));
}

pipeline::PipelineOptions AgentWords::options() const {
  pipeline::PipelineOptions options = state_->options;
  options.delay = 0;
  // Time passes as the journal has it, and is ahead of the samples: it moves no watermark.
  options.max_lag = kTimeMax / 2;
  return options;
}

Status AgentWords::begin(pipeline::Pipeline& to) {
  Status told = state_->tell(to, [this] { return state_->listening.last != kTimeMin; });
  state_->listening.let_time_pass();
  return told;
}

Status AgentWords::tell_until(pipeline::Pipeline& to, TimeNs time) {
  const TimeNs heard = time > kTimeMax - state_->options.max_lag ? kTimeMax : time + state_->options.max_lag;
  return state_->tell(to, [this, heard] { return state_->listening.last > heard; });
}

const profile::RecordingInfo& AgentWords::recording() const {
  return state_->listening.recording;
}
TimeNs AgentWords::first_time() const {
  return state_->listening.first;
}
TimeNs AgentWords::last_time() const {
  return state_->listening.last;
}
std::uint64_t AgentWords::plans() const {
  return state_->listening.plans;
}
std::uint64_t AgentWords::codes() const {
  return state_->listening.codes;
}

}  // namespace tailor::importer
