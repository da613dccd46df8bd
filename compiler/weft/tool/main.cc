// weft, the reference engine.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <tailor/agent.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "compiler/weft/exec/columns.h"
#include "compiler/weft/exec/components.h"
#include "compiler/weft/runtime/symbols.h"
#include "compiler/weft/tool/command_line.h"
#include "compiler/weft/tool/load.h"
#include "compiler/weft/tool/run.h"
#include "compiler/weft/tool/statement.h"
#include "compiler/weft/tool/workflow_command.h"
#include "compiler/weft/workflow/workflow_runtime.h"

namespace {

using tailor::Error;
using tailor::Result;
using tailor::Status;
using namespace tailor::weft;

std::atomic<bool> cancelled{false};

extern "C" void cancel_query(int) {
  cancelled.store(true, std::memory_order_relaxed);
}

int report(const Error& error) {
  fmt::print(stderr, "weft: {}\n", error.message);
  return 1;
}

// Starts the profiling agent. `may_leave_out`: the executions of this process can do without their tags.
void start_agent(tailor::jit::TagStrategy tags, bool may_leave_out) {
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "weft";
  options.engine_version = TAILOR_VERSION;
  options.tag_strategy = static_cast<std::uint32_t>(tags);
  if (tailor_agent_start(&options) != 0) return;
  if (may_leave_out) (void)tailor_execution_tag_strategy(0);  // we ask, from the first execution on
  tailor_thread_register("weft");
}

// Whether somebody listens on the agent's socket. A daemon that was killed leaves the file behind.
bool daemon_listens(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path, path.size());
  int probe = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  int refused = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // EAGAIN: the queue of the socket is full, because many engines start at once.
  bool listens = refused == 0 || errno == EAGAIN;
  ::close(probe);
  return listens;
}

// With a daemon in reach, waits until it samples this process, so that short queries are seen whole.
void await_daemon() {
  const char* named = std::getenv("TAILOR_SOCKET");
  if (daemon_listens(named != nullptr ? named : "/run/tailor/agent.sock")) tailor_agent_barrier(2000);
}

void run_statements(const CommandLine& command, const std::string& text, QueryContext& context) {
  cancelled = false;
  for (const QueryText& statement : split_statements(text)) {
    Status status = run_query(command, "shell", statement, context);
    if (!status.ok()) report(status.error());
  }
}

// Reads queries that end with a semicolon until the input ends. The last one of a file or a pipe needs none.
int run_shell(const CommandLine& command, QueryContext& context) {
  bool prompt = ::isatty(STDIN_FILENO) != 0;
  std::string text;
  std::string line;
  while (true) {
    if (prompt) std::cout << (text.empty() ? "weft> " : "  ... ") << std::flush;
    if (!std::getline(std::cin, line)) break;
    text += line + "\n";
    std::size_t end = text.find_last_not_of(" \t\n");
    if (end == std::string::npos) text.clear();
    if (text.empty() || text[end] != ';') continue;
    run_statements(command, text, context);
    text.clear();
  }
  if (!prompt && has_statement(text)) run_statements(command, text, context);
  return 0;
}

Result<std::unique_ptr<tailor::jit::Jit>> make_jit() {
  WorkScope work(EngineWork::kCompile);
  auto jit = tailor::jit::Jit::create();
  if (!jit.ok()) return jit;
  for (const auto symbols : {runtime_symbols(), workflow::workflow_symbols()}) {
    for (const RuntimeSymbol& symbol : symbols) {
      if (Status status = (*jit)->define(symbol.name, symbol.address); !status.ok())
        return std::move(status).error();
    }
  }
  return jit;
}

// Needs no tables.
int run_workflow_of(const CommandLine& command) {
  if (command.command == CommandLine::Command::kCompileWorkflow) {
    Status compiled = compile_workflow_command(command);
    return compiled.ok() ? 0 : report(compiled.error());
  }
  if (command.command == CommandLine::Command::kExplainWorkflow && !command.levels) {
    Status explained = explain_workflow_command(command);
    return explained.ok() ? 0 : report(explained.error());
  }
  auto jit = make_jit();
  if (!jit.ok()) return report(jit.error());
  if (command.command == CommandLine::Command::kExplainWorkflow) {
    Status explained = explain_workflow_levels(command, **jit);
    return explained.ok() ? 0 : report(explained.error());
  }
  if (command.command == CommandLine::Command::kAnalyzeWorkflow) {
    Status analysed = analyze_workflow_command(command, **jit, cancelled);
    return analysed.ok() ? 0 : report(analysed.error());
  }
  auto names = CodeNames::make(command);
  if (!names.ok()) return report(names.error());
  Timings timings;
  Status ran = run_workflow_command(command, **jit, *names, cancelled, timings);
  if (!ran.ok()) return report(ran.error());
  if (command.timing_json.empty()) return 0;
  Status written = write_timings(command.timing_json, timings);
  return written.ok() ? 0 : report(written.error());
}

int run(const CommandLine& command) {
  if (!command.workflow.file.empty()) return run_workflow_of(command);
  if (command.command == CommandLine::Command::kLoadCsv) {
    Status imported = import_csv(command.csv);
    return imported.ok() ? 0 : report(imported.error());
  }
  auto database = open_tables(command);
  if (!database.ok()) return report(database.error());
  register_columns(**database);
  if (command.command == CommandLine::Command::kLoadTpch) return 0;
  auto jit = make_jit();
  if (!jit.ok()) return report(jit.error());
  auto names = CodeNames::make(command);
  if (!names.ok()) return report(names.error());
  QueryContext context{**database, **jit, cancelled, *names, PlanCache(command.kept_plans)};
  if (command.command == CommandLine::Command::kShell) return run_shell(command, context);
  for (const auto& [name, sql] : command.queries) {
    Status status = run_query(command, name, sql, context);
    if (!status.ok()) return report(status.error());
  }
  if (command.timing_json.empty()) return 0;
  Status written = write_timings(command.timing_json, context.timings);
  return written.ok() ? 0 : report(written.error());
}

}  // namespace

int main(int argc, char** argv) {
  Result<CommandLine> command = parse_command_line(argc, argv);
  if (!command.ok()) return report(command.error());
  // Memory of one query serves the next one: returning it to the system costs page faults.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  std::signal(SIGINT, cancel_query);
  start_agent(command->tags, command->workflow.file.empty());  // a workflow is compiled in one way alone
  int code = 0;
  {
    WorkScope session(EngineWork::kSession);  // what has no scope of its own: tables and queries going away
    await_daemon();
    code = run(*command);
  }
  // The agent is not stopped: the daemon sees the process end, and knows what ending it cost.
  begin_exit();
  if (tailor_agent_connected() != 0) tailor_agent_barrier(1000);
  return code;
}
