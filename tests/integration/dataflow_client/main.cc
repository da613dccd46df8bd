// pagerank llvm|llvm-r13|c [VERTICES [EDGES]]: prints the number of iterations, the top vertex and the sum of
// all ranks.
#include <tailor/tag_scope.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>

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

// The program's loop: iterates the generated code until the ranks hardly change.
int run(const flow::Program& program, const flow::Generated& generated, const flow::Graph& graph) {
  std::vector<double> rank(graph.vertices(), 1.0 / static_cast<double>(graph.vertices())), next(rank.size());
  flow::State state{graph.row.data(), graph.targets.data(), rank.data(), next.data(), graph.vertices(), 1};
  const tailor_label label{"application", "pagerank"};
  const std::uint64_t execution = tailor_execution_begin(program.ids.id, &label, 1);
  tailor_mark_execution_begin(execution, program.ids.id);
  int iterations = 0;
  tailor::TagScope control(program.tags, generated.control_tag(program));
  while (state.delta > 1e-9 && iterations < 100) {
    tailor_mark_iteration(program.converge, static_cast<std::uint64_t>(++iterations));
    generated.iteration()(&state);
    std::swap(state.rank, state.next);
  }
  const auto& result = state.rank == rank.data() ? rank : next;
  const std::uint64_t top = top_vertex(result);
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 1, nullptr);
  std::printf("iterations %d top %llu sum %.9f\n", iterations, static_cast<unsigned long long>(top),
              std::accumulate(result.begin(), result.end(), 0.0));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string backend = argc > 1 ? argv[1] : "";
  const bool llvm = backend.starts_with("llvm");
  if (backend != "llvm" && backend != "llvm-r13" && backend != "c") {
    std::fprintf(stderr, "usage: pagerank llvm|llvm-r13|c [VERTICES [EDGES]]\n");
    return 2;
  }
  const std::uint64_t vertices = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20000;
  const std::uint64_t edges = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : vertices * 16;

  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "pagerank";
  options.tag_strategy = backend == "llvm-r13" ? TAILOR_TAGS_SWIFTSELF : TAILOR_TAGS_R15;
  tailor_agent_start(&options);
  tailor_agent_barrier(2000);

  auto folder = std::filesystem::temp_directory_path() / ("pagerank." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  int code = 1;
  {
    flow::Program program(llvm ? "ir" : "line", options.tag_strategy);
    auto generated = llvm ? flow::generate_llvm(program) : flow::generate_c(program, folder);
    if (generated) code = run(program, *generated, make_graph(vertices, edges));
  }
  std::filesystem::remove_all(folder);
  tailor_agent_stop(2000);
  return code;
}
