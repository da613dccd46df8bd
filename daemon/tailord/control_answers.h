// What the daemon answers to those who control it: over the control socket, and over HTTP.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "daemon/os/os.h"
#include "daemon/session/recorder.h"
#include "daemon/store/store_writer.h"
#include "daemon/tailord/options.h"
#include "daemon/tailord/published_counts.h"
#include "daemon/tailord/store_use.h"
#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"

namespace tailor::tailord {

// Any thread but the recorder's control thread. Whether the asker may have the answer is asked before.
class ControlAnswers {
 public:
  // Adds the counts of what else was turned away.
  using AddRefusals = std::function<void(v1::DaemonStatus&)>;
  struct Sampling {
    const Options& options;
    const capture::CaptureOptions& capture;  // of every process
  };
  // All must outlive it. `store` is written on the recorder's control thread, and `counts` published there.
  ControlAnswers(os::Os& os, const Sampling& sampling, session::Recorder& recorder, store::StoreWriter& store,
                 const PublishedCounts& counts, AddRefusals add_refusals)
      : os_(os),
        options_(sampling.options),
        capture_(sampling.capture),
        recorder_(recorder),
        store_(store),
        store_use_(store),
        counts_(counts),
        add_refusals_(std::move(add_refusals)),
        started_(os.now()) {}

  // `asker`: for people, in the place of a reason.
  Status answer(const v1::ControlRequest& request, const std::string& asker, v1::ControlReply& reply);
  // Waits for nobody. The answer is as the recorder and the store said it last, with its age. Both are
  // asked to say it again.
  void status(v1::DaemonStatus& out);
  Status flush(v1::FlushReply& out);

 private:
  Status sample(std::int32_t pid, v1::SampleReply& out);
  Status pause(const v1::PauseRequest& request, v1::PauseReply& out);
  Status resume(const v1::ResumeRequest& request, v1::ResumeReply& out);
  Status rate(const v1::RateRequest& request, const std::string& asker, v1::RateReply& out);

  os::Os& os_;
  const Options options_;  // as the daemon began: others may change while this is read
  const capture::CaptureOptions& capture_;
  session::Recorder& recorder_;
  store::StoreWriter& store_;
  StoreUse store_use_;
  const PublishedCounts& counts_;
  AddRefusals add_refusals_;
  TimeNs started_;
};

}  // namespace tailor::tailord
