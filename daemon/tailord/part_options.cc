#include "daemon/tailord/part_options.h"

#include <spdlog/spdlog.h>

#include <cstddef>
#include <string>
#include <utility>

#include "daemon/store/store_directory.h"

namespace tailor::tailord {

store::StoreOptions store_options(const Options& options) {
  store::StoreOptions store;
  store.keep_bytes = options.keep_megabytes << 20;
  store.keep_ns = options.keep_days * 86'400 * 1'000'000'000;
  store.catalogue_bytes = store::catalogue_budget(store.keep_bytes);
  store.sum_unsampled = options.sum_unsampled;
  store.summaries = true;
  store.own_thread = true;
  store.on_problem = [](const std::string& problem) {
    if (problem.empty()) {
      spdlog::info("store: everything can be written again");
    } else {
      spdlog::error("store: {}; samples are lost and counted until it can be written again", problem);
    }
  };
  store.on_put_aside = [](const std::string& what) { spdlog::warn("store: {}", what); };
  store.on_removed = [](const std::string& what) { spdlog::info("store: removed {}", what); };
  return store;
}

store::SummaryRetention summary_retention(const Options& options) {
  store::SummaryRetention retention;
  retention.keep_bytes = options.keep_summary_megabytes << 20;
  retention.keep_ns = options.keep_summary_days * 86'400 * 1'000'000'000;
  return retention;
}

session::NamerOptions namer_options(const Options& options, const store::StoreWriter& store) {
  session::NamerOptions namer;
  namer.budget = session::names_budget(options.keep_megabytes << 20);
  namer.segment = [&store] { return store.data_segment(); };
  namer.oldest = [directory = options.store]() -> std::uint64_t {
    const auto segments = store::list_segments(directory);
    if (!segments) return 0;  // none counts as gone
    for (const store::SegmentFile& each : *segments) {
      if (each.kind == store::FileKind::kDataSegment) return each.number;
    }
    return 0;
  };
  return namer;
}

pipeline::PipelineOptions pipeline_options(const Options& options) {
  pipeline::PipelineOptions pipeline;
  // Sums come late by as much as they are added up.
  pipeline.max_lag += options.sampling.aggregate;
  pipeline.limits.total_bytes = static_cast<std::size_t>(options.max_memory_megabytes) << 20;
  pipeline.limits.user_plans = options.user_plans;
  pipeline.limits.user_code_bytes = static_cast<std::size_t>(options.user_code_megabytes) << 20;
  pipeline.limits.user_regions = options.user_regions;
  pipeline.all_marks = options.sampling.all_marks;
  return pipeline;
}

session::RecorderOptions live_options(const Options& options, capture::CaptureOptions capture,
                                      pipeline::Input* journal) {
  session::RecorderOptions live;
  live.agent_socket = options.agent_socket;
  live.agent_socket_group = options.socket_group;
  live.capture = std::move(capture);
  live.pipeline = pipeline_options(options);
  live.sample_registered = true;
  live.max_processes = options.max_processes;
  live.user_processes = options.user_processes;
  live.user_messages_a_second = options.user_messages_a_second;
  live.max_overhead = options.sampling.max_overhead;
  live.seed = options.sampling.seed;
  live.untagged_ppm = options.sampling.untagged_executions;
  live.command = "tailord";
  live.keep_literals = options.keep_literals;
  live.rules = options.processes;
  live.journal = journal;
  return live;
}

}  // namespace tailor::tailord
