// pagerank BACKEND [VERTICES [EDGES [LOG [MARKS]]]]: prints the number of iterations, the top vertex and the
// sum of all ranks. BACKEND is llvm, llvm-r13, c or emitted. To LOG it writes when each iteration began.
// MARKS says whether iterations are marked: yes, no, or late. The last is for tests, which must notice; so is
// -swapped behind a backend, which exchanges the code of two steps in what the engine says.
#include <tailor/tag_scope.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>

#include "dataflow.h"

namespace {

// Targets are drawn so that a few vertices have many incoming edges. The same graph in every run.
flow::Graph make_graph(std::uint64_t vertices, std::uint64_t edges) {
  std::uint64_t seed = 88172645463325252ull;
  auto draw = [&] { return seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; };
  flow::Graph graph;
  graph.row.resize(vertices + 1);
  graph.targets.resize(edges);
  for (std::uint64_t v = 0; v <= vertices; ++v) graph.row[v] = v * edges / vertices;
  for (auto& target : graph.targets) {
    const double x = static_cast<double>(draw() % 1000000) / 1e6;
    target = static_cast<std::uint32_t>(x * x * static_cast<double>(vertices));
  }
  return graph;
}

std::uint64_t top_vertex(const std::vector<double>& rank) {
  return static_cast<std::uint64_t>(std::ranges::max_element(rank) - rank.begin());
}

// The smallest rank among the hundred highest: what somebody who watches the program is told.
double hundredth_rank(const double* rank, std::uint64_t vertices) {
  std::vector<double> ranks(rank, rank + vertices);
  const auto last = ranks.begin() + std::min<std::ptrdiff_t>(99, std::ssize(ranks) - 1);
  std::ranges::nth_element(ranks, last, std::greater{});
  return *last;
}

// When things happened, in ns since the execution began; for whoever doubts the profile.
class Log {
 public:
  explicit Log(const std::string& path) : file_(path) {}
  // Around what tells Tailor that the execution begins: the thread can lose its CPU between clock and mark.
  void begins() { earliest_begin_ = now(CLOCK_MONOTONIC_RAW); }
  void has_begun() { latest_begin_ = now(CLOCK_MONOTONIC_RAW); }
  // The same of an iteration: when it began at the earliest and at the latest. With the CPU time of the
  // thread: where it passes less of it than of time, the host was in the way.
  void iteration_begins(int number) {
    file_ << number << ' ' << now(CLOCK_MONOTONIC_RAW) - latest_begin_ << ' ';
  }
  void iteration_has_begun() {
    file_ << now(CLOCK_MONOTONIC_RAW) - earliest_begin_ << ' ' << now(CLOCK_THREAD_CPUTIME_ID) << '\n';
  }

 private:
  static std::int64_t now(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  std::ofstream file_;
  std::int64_t earliest_begin_ = 0, latest_begin_ = 0;
};

struct Options {
  std::string backend, log, marks = "yes";
  std::uint64_t vertices = 20000, edges = 0;
};

// The program's loop: iterates the generated code until the ranks hardly change, and looks at the leaders in
// every fifth iteration.
int run(const flow::Program& program, const flow::Generated& generated, const flow::Graph& graph,
        const Options& options) {
  std::vector<double> rank(graph.vertices(), 1.0 / static_cast<double>(graph.vertices())), next(rank.size());
  flow::State state{graph.row.data(), graph.targets.data(), rank.data(), next.data(), graph.vertices(), 1};
  const tailor_label label{"application", "pagerank"};
  Log log(options.log);
  log.begins();
  const std::uint64_t execution = tailor_execution_begin(program.ids.id, &label, 1);
  tailor_mark_execution_begin(execution, program.ids.id);
  log.has_begun();
  int iterations = 0;
  double watched = 0;
  const std::uint64_t control = generated.tag(program, program.converge, program.control_step);
  for (tailor::TagScope scope(program.tags, control); state.delta > 1e-9 && iterations < 100;) {
    log.iteration_begins(++iterations);
    const auto number = static_cast<std::uint64_t>(iterations);
    if (options.marks == "yes") tailor_mark_iteration(program.converge, number);
    log.iteration_has_begun();
    if (iterations % 5 == 0) {
      tailor::TagScope leaders(program.tags, generated.tag(program, program.top, program.top_step));
      watched = hundredth_rank(state.rank, state.vertices);
    }
    generated.iteration()(&state);
    if (options.marks == "late") tailor_mark_iteration(program.converge, number);
    std::swap(state.rank, state.next);
  }
  const auto& result = state.rank == rank.data() ? rank : next;
  const std::uint64_t top = top_vertex(result);
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 1, nullptr);
  std::printf("iterations %d top %llu hundredth %.9f sum %.9f\n", iterations,
              static_cast<unsigned long long>(top), watched,
              std::accumulate(result.begin(), result.end(), 0.0));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::set<std::string> backends = {"llvm", "llvm-r13", "c", "emitted"};
  if (argc > 1) options.backend = argv[1];
  const bool swapped = options.backend.ends_with("-swapped");
  if (swapped) options.backend.resize(options.backend.rfind('-'));
  if (!backends.contains(options.backend)) {
    std::fprintf(
        stderr, "usage: pagerank llvm|llvm-r13|c|emitted[-swapped] [VERTICES [EDGES [LOG [yes|no|late]]]]\n");
    return 2;
  }
  if (argc > 2) options.vertices = std::strtoull(argv[2], nullptr, 10);
  options.edges = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : options.vertices * 16;
  if (argc > 4) options.log = argv[4];
  if (argc > 5) options.marks = argv[5];
  const bool llvm = options.backend.starts_with("llvm");

  tailor_agent_options agent{};
  agent.size = sizeof agent;
  agent.engine_name = "pagerank";
  agent.tag_strategy = options.backend == "llvm-r13" ? TAILOR_TAGS_SWIFTSELF : TAILOR_TAGS_R15;
  tailor_agent_start(&agent);
  tailor_agent_barrier(2000);

  auto folder = std::filesystem::temp_directory_path() / ("pagerank." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  int code = 1;
  {
    flow::Program program(llvm ? "ir" : options.backend == "c" ? "line" : "instruction", agent.tag_strategy);
    if (swapped) std::swap(program.read_step, program.damp_step);
    auto generated = llvm                     ? flow::generate_llvm(program)
                     : options.backend == "c" ? flow::generate_c(program, folder)
                                              : flow::generate_emitted(program);
    if (generated) code = run(program, *generated, make_graph(options.vertices, options.edges), options);
  }
  std::filesystem::remove_all(folder);
  tailor_agent_stop(2000);
  return code;
}
