// An engine of a known shape for the tests of agent and daemon: what it does is said on its command line.
//
//   engine SOCKET busy         loads and unloads plans and code, runs executions, marks, until it is killed
//   engine SOCKET threads N    N short threads of five marks each; prints the number of records written
//   engine SOCKET fork         registers, forks; parent and child each run one execution of their own
//   engine SOCKET once         one execution on one thread, then stops its agent
#include <dlfcn.h>
#include <sys/wait.h>
#include <tailor/agent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tailor/v1/dictionary.pb.h"

namespace {

std::string serialised_plan() {
  tailor::v1::Plan plan;
  plan.add_levels()->set_component_count(1);
  return plan.SerializeAsString();
}

std::string serialised_code(std::uint64_t plan_id, std::size_t bytes) {
  tailor::v1::CodeObject code;
  code.set_plan_id(plan_id);
  code.set_base(0x10000);
  code.set_code(std::string(bytes, 'c'));
  return code.SerializeAsString();
}

void run_query(std::size_t code_bytes) {
  tailor_plan_ids plan = tailor_plan_new();
  std::string bytes = serialised_plan();
  tailor_plan_load(plan.id, bytes.data(), bytes.size());
  std::uint64_t code = tailor_code_new();
  bytes = serialised_code(plan.id, code_bytes);
  tailor_code_load(code, bytes.data(), bytes.size());
  const tailor_label label{"user", "\x1b[31mred\n<script>"};
  std::uint64_t execution = tailor_execution_begin(plan.id, &label, 1);
  tailor_mark_execution_begin(execution, plan.id);
  for (int i = 0; i < 50; ++i) tailor_mark_morsel_begin(1, 0, 0);
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 1, nullptr);
  tailor_code_unload(code);
  tailor_plan_unload(plan.id);
}

int busy() {
  auto worker = [](std::size_t code_bytes) {
    while (true) {
      run_query(code_bytes);
      ::usleep(500);
    }
  };
  std::thread small(worker, 100);
  worker(200'000);
  return 0;
}

int threads(int count) {
  for (int left = count; left > 0;) {
    std::vector<std::thread> batch;
    for (int i = 0; i < 100 && left > 0; ++i, --left) {
      batch.emplace_back([] {
        for (unsigned k = 1; k <= 5; ++k) tailor_mark_iteration(k, 0);
      });
    }
    for (std::thread& thread : batch) thread.join();
    ::usleep(20'000);
  }
  tailor_agent_counters counters{sizeof(counters)};
  tailor_agent_get_counters(&counters);
  std::printf("%llu\n", static_cast<unsigned long long>(counters.log_records));
  std::fflush(stdout);
  return tailor_agent_barrier(60'000) ? 0 : 1;
}

int fork(const tailor_agent_options& options) {
  run_query(100);
  pid_t child = ::fork();
  if (child == 0) {
    bool fine = tailor_agent_start(&options) == 0;
    run_query(100);
    fine = fine && tailor_agent_barrier(60'000);
    tailor_agent_stop(1000);
    ::_exit(fine ? 0 : 1);
  }
  run_query(100);
  int status = 0;
  ::waitpid(child, &status, 0);
  bool fine = tailor_agent_barrier(60'000) && status == 0;
  tailor_agent_stop(1000);
  return fine ? 0 : 1;
}

int once() {
  run_query(100);
  bool fine = tailor_agent_barrier(60'000);
  tailor_agent_stop(1000);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "test \x1b]0;engine\x07";
  options.socket_path = argv[1];
  if (int error = tailor_agent_start(&options)) return -error;
  std::string mode = argv[2];
  if (mode == "busy") return busy();
  if (mode == "threads" && argc > 3) return threads(std::atoi(argv[3]));
  if (mode == "fork") return fork(options);
  if (mode == "once") return once();
  return 2;
}
