// What a perf.data holds, to the pipeline: its events, its records behind the watermark that perf's rounds
// give.
//
// A recorder reads all its rings in a round, so records wait for two rounds before they are in order. Where
// rounds are missing, or tell nothing, as much waits as there is room for: kMostHeldBytes or kMostHeldEvents.
// Beyond that the older half leaves; what comes behind it with an earlier time is late, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/formats/perf_data.h"
#include "daemon/formats/perf_losses.h"
#include "daemon/formats/perf_rewrite.h"
#include "daemon/formats/perf_swap.h"
#include "daemon/import/agent_words.h"
#include "daemon/import/observing_sink.h"
#include "daemon/pipeline/pipeline.h"

namespace tailor::importer {

// One thread; everything passed to the constructor must outlive it.
class PerfFeed : public formats::PerfRecords::Taker {
 public:
  static constexpr std::size_t kMostHeldBytes = std::size_t{320} << 20;
  static constexpr std::size_t kMostHeldEvents = std::size_t{1} << 22;

  // `words`: NULL, or what agents said meanwhile.
  PerfFeed(pipeline::Pipeline& pipeline, ObservingSink& sink, profile::RecordingInfo& info,
           std::uint8_t tag_register, AgentWords* words)
      : pipeline_(pipeline), sink_(sink), info_(info), words_(words) {
    how_.tag_register = tag_register;
  }

  Status use_events(std::vector<formats::PerfAttr> events);
  void describe(const formats::PerfDescription& text);

  void to_our_order(std::span<std::byte> record) override { swap_.record(record, events_); }
  Status kernel_records(formats::PerfBytes bytes) override;
  bool recorders_losses(formats::PerfBytes record) override;
  Status event(formats::PerfAttr attr) override;
  void event_name(std::uint64_t id, std::string name) override;
  void described(const formats::PerfDescription& so_far) override { describe(so_far); }
  Status round() override;
  // What was given so far, to the pipeline: it waits there.
  Status deliver();
  // The latest time of a sample in what was delivered last, kTimeMin: it had none.
  TimeNs newest_of_piece() const { return newest_of_piece_; }
  void hold_at_most(std::size_t bytes) { most_bytes_ = bytes; }
  // Records of several files: the rounds of one say nothing about the others.
  void ignore_rounds() { rounds_ = false; }
  // There is no more: all leaves, and names that came late are told.
  Status finish();

  const std::vector<formats::PerfAttr>& events() const { return events_; }
  const formats::PerfDescription& description() const { return description_; }
  // Of the kernel that was recorded, as in profile::RecordingInfo; "": nothing told it.
  const std::string& kernel_anchor() const { return kernel_anchor_; }
  const std::string& kernel_build_id() const { return kernel_build_id_; }
  const formats::PerfRewriter& rewriter() const { return rewriter_; }
  const formats::PerfLosses& losses() const { return losses_; }
  // Of these, lost samples that no record of the kernel told. After finish().
  std::uint64_t untold_losses() const { return untold_; }
  // How often the pipeline was told of events; how much waited at most.
  std::uint64_t layouts() const { return tellings_; }
  std::size_t most_held_bytes() const { return most_held_; }
  std::uint64_t forced() const { return forced_; }  // times that records left for lack of room

 private:
  static constexpr int kMostLooks = 64;  // for the kernel's anchor

  // The newest sample up to a piece of the file.
  struct Mark {
    TimeNs newest;
  };

  capture::RingLayout layout();
  Status tell_events();
  Status tell_losses();
  Status rewritten(formats::PerfBytes bytes);
  Status keep_within_bounds();
  Status flush(TimeNs time);

  pipeline::Pipeline& pipeline_;
  ObservingSink& sink_;
  profile::RecordingInfo& info_;
  AgentWords* words_;
  formats::PerfLayoutOptions how_;
  formats::PerfSwap swap_;
  formats::PerfRewriter rewriter_;
  formats::PerfLosses losses_;
  std::uint64_t untold_ = 0;
  formats::PerfDescription description_;
  std::string kernel_anchor_, kernel_build_id_;
  int looks_ = 0;
  std::vector<formats::PerfAttr> events_;
  std::unordered_map<std::uint64_t, std::size_t> event_of_;  // by id
  std::size_t ids_ = 0;
  std::size_t ids_told_ = 0;  // of all tellings
  bool told_ = true;          // the pipeline knows all events
  std::uint64_t tellings_ = 0;
  capture::RingChunk chunk_;       // what is still to be delivered
  std::uint64_t since_round_ = 0;  // bytes
  std::deque<Mark> marks_;         // of what was delivered and may still wait
  TimeNs before_ = kTimeMin;       // newest sample before the last round
  TimeNs newest_of_piece_ = kTimeMin;
  bool rounds_ = true;
  std::size_t most_bytes_ = kMostHeldBytes, most_held_ = 0;
  std::uint64_t forced_ = 0;
};

}  // namespace tailor::importer
