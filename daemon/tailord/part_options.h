// What each part of the daemon is given of the daemon's options.
#pragma once

#include "daemon/session/function_namer.h"
#include "daemon/session/recorder.h"
#include "daemon/store/store_writer.h"
#include "daemon/store/summary_files.h"
#include "daemon/tailord/options.h"

namespace tailor::tailord {

// Any thread, all of them. Problems of the store go to the log.
store::StoreOptions store_options(const Options& options);
store::SummaryRetention summary_retention(const Options& options);
// `store` must outlive who asks.
session::NamerOptions namer_options(const Options& options, const store::StoreWriter& store);
pipeline::PipelineOptions pipeline_options(const Options& options);
// `capture` is what the options' events became on this host; `journal` may be null, else it must outlive the
// recorder.
session::RecorderOptions live_options(const Options& options, capture::CaptureOptions capture,
                                      pipeline::Input* journal);

}  // namespace tailor::tailord
