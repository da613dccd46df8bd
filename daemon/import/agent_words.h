// What engines said while somebody else took the samples: plans, code and marks out of the journal of a
// recording of ours on the same machine at the same time.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/journal/journal_reader.h"
#include "daemon/pipeline/pipeline.h"
#include "proto/base/result.h"

namespace tailor::importer {

// Its times are CLOCK_MONOTONIC_RAW. One thread; the input must outlive it.
class AgentWords {
 public:
  // Reads up to the recording's first words. Fails for what is no journal.
  static Result<AgentWords> open(store::Input& journal);
  AgentWords(AgentWords&&) noexcept;
  AgentWords& operator=(AgentWords&&) noexcept;
  ~AgentWords();

  // Of a pipeline that is to understand them: it moves its watermark by flush() alone.
  pipeline::PipelineOptions options() const;
  // The clock, and what was said before the first samples could be taken. Once, before all else.
  Status begin(pipeline::Pipeline& to);
  // What was said up to that time and could be heard later. Fails where the journal is damaged.
  Status tell_until(pipeline::Pipeline& to, TimeNs time);

  // As it was told last.
  const profile::RecordingInfo& recording() const;
  // From the journal's begin to as far as it was read; kTimeMin: it says no time.
  TimeNs first_time() const;
  TimeNs last_time() const;
  std::uint64_t plans() const;
  std::uint64_t codes() const;

 private:
  class Listening;
  struct State;
  explicit AgentWords(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tailor::importer
