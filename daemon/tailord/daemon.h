// The daemon: a recorder that samples every process that registers, into the store; and the control
// socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/control/control_server.h"
#include "daemon/journal/journal_writer.h"
#include "daemon/metrics/operator_meter.h"
#include "daemon/os/os.h"
#include "daemon/profile/tee_sink.h"
#include "daemon/session/function_namer.h"
#include "daemon/session/recorder.h"
#include "daemon/store/store_writer.h"
#include "daemon/tailord/compactor.h"
#include "daemon/tailord/control_answers.h"
#include "daemon/tailord/control_work.h"
#include "daemon/tailord/damage_log.h"
#include "daemon/tailord/log_limiter.h"
#include "daemon/tailord/options.h"
#include "daemon/tailord/past_runs.h"
#include "daemon/tailord/published_counts.h"
#include "daemon/tailord/reports.h"
#include "daemon/tailord/triggered_rates.h"
#include "proto/base/result.h"

namespace tailor::tailord {

// Main thread only.
class Daemon {
 public:
  // Creates directories that are missing, opens the store, listens; on the agent socket that the service
  // manager hands over, if it does. Fails with the reason; nothing stays.
  static Result<std::unique_ptr<Daemon>> start(os::Os& os, const Options& options);

  // Gives what the configuration says now.
  using ReadOptions = std::function<Result<Options>()>;

  // Serves the control socket until `stop_fd` becomes readable. Takes over the configuration when a signal
  // can be read from `reload_fd`, a signalfd: `read_options` is called on another thread then, until stop()
  // returns. Tells the service manager's watchdog that this thread turns and
  // that the recording has turned since the last look.
  void serve(int stop_fd, int reload_fd, const ReadOptions& read_options);

  // Attributes and writes everything up to now, and closes the store.
  Status stop();

 private:
  Daemon(os::Os& os, const Options& options) : os_(os), options_(options), triggered_(os.proc()) {}

  void log_problem(const pipeline::Problem& problem);  // control thread of the recorder
  void log_damage(const std::string& text);            // any thread
  void reload(const Result<Options>& read);            // thread of work_, which alone uses options_ then
  Moment moment();
  // Runs of before `before`, from when on triggers count runs themselves.
  void read_past_runs(const Moment& before);
  Result<PreparedRates> rates_after(const Options& read);
  void cut_off(const std::string& why);
  void add_cut_off(v1::DaemonStatus& out);
  Web::Daemon web_side();
  std::optional<v1::ControlReply> answer(const v1::ControlRequest& request, const control::Peer& peer,
                                         const control::ControlServer::Promise& promise);
  v1::ControlReply answer_late(const v1::ControlRequest& request);
  Result<v1::ControlReply> control_by_http(const v1::ControlRequest& request, const serve::Access& access);

  os::Os& os_;
  Options options_;
  LogLimiter log_limiter_;
  DamageLog damage_log_;
  std::mutex cut_off_mutex_;                      // guards:
  std::map<std::string, std::uint64_t> cut_off_;  // askers, by reason
  capture::CaptureOptions capture_;               // of every process
  std::unique_ptr<store::StoreWriter> store_;     // written on the recorder's control thread
  std::unique_ptr<journal::JournalWriter> journal_;
  metrics::OperatorMeter meter_;
  TriggeredRates triggered_;  // asked on the recorder's control thread
  PublishedCounts counts_;
  std::unique_ptr<session::FunctionNamer> namer_;  // of what the store has
  std::unique_ptr<profile::TeeSink> sinks_;        // the store, the meter, the triggers and the namer
  std::unique_ptr<session::Recorder> recorder_;
  std::unique_ptr<PastRunsReader> past_runs_;  // for triggered_, once a trigger needs them
  std::unique_ptr<ControlAnswers> answers_;
  std::unique_ptr<Compactor> compactor_;  // of the store
  std::unique_ptr<control::ControlServer> control_;
  std::unique_ptr<ControlWork> work_;  // calls answers_, and reloads
  std::unique_ptr<Reports> reports_;
  std::unique_ptr<Web> web_;
};

}  // namespace tailor::tailord
