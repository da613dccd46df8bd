#include "daemon/tailord/reload.h"

namespace tailor::tailord {

Changes changes_of(const Options& before, const Options& after) {
  Changes changes;
  const auto compare = [](std::vector<std::string>& to, const char* key, const auto& one, const auto& other) {
    if (one != other) to.emplace_back(key);
  };
  auto& now = changes.at_run_time;
  compare(now, "keep-days", before.keep_days, after.keep_days);
  compare(now, "keep-literals", before.keep_literals, after.keep_literals);
  compare(now, "keep-megabytes", before.keep_megabytes, after.keep_megabytes);
  compare(now, "log-level", before.log_level, after.log_level);
  compare(now, "processes.ignore", before.processes.ignore, after.processes.ignore);
  compare(now, "processes.sample", before.processes.sample, after.processes.sample);
  auto& later = changes.needs_restart;
  const session::SamplingOptions& old = before.sampling;
  const session::SamplingOptions& fresh = after.sampling;
  compare(later, "aggregate", old.aggregate, fresh.aggregate);
  compare(later, "callchain", old.callchain, fresh.callchain);
  compare(later, "control", before.control_socket, after.control_socket);
  compare(later, "event", old.events, fresh.events);
  compare(later, "frequency", old.frequency, fresh.frequency);
  compare(later, "http", before.web.socket, after.web.socket);
  compare(later, "http-host", before.web.hosts, after.web.hosts);
  compare(later, "journal", before.journal, after.journal);
  compare(later, "listen", before.web.listen, after.web.listen);
  compare(later, "marks", old.all_marks, fresh.all_marks);
  compare(later, "max-memory", before.max_memory_megabytes, after.max_memory_megabytes);
  compare(later, "max-overhead", old.max_overhead, fresh.max_overhead);
  compare(later, "memory", old.memory, fresh.memory);
  compare(later, "metrics-listen", before.web.metrics, after.web.metrics);
  compare(later, "socket", before.agent_socket, after.agent_socket);
  compare(later, "socket-group", before.socket_group, after.socket_group);
  compare(later, "source", old.sampled_by, fresh.sampled_by);
  compare(later, "stacks", old.stacks, fresh.stacks);
  compare(later, "store", before.store, after.store);
  compare(later, "tokens", before.web.tokens, after.web.tokens);
  compare(later, "user-code", before.user_code_megabytes, after.user_code_megabytes);
  compare(later, "user-messages-per-second", before.user_messages_a_second, after.user_messages_a_second);
  compare(later, "user-plans", before.user_plans, after.user_plans);
  compare(later, "user-processes", before.user_processes, after.user_processes);
  compare(later, "user-regions", before.user_regions, after.user_regions);
  return changes;
}

void take_changes(Options& options, const Options& after) {
  options.keep_days = after.keep_days;
  options.keep_literals = after.keep_literals;
  options.keep_megabytes = after.keep_megabytes;
  options.log_level = after.log_level;
  options.processes = after.processes;
}

}  // namespace tailor::tailord
