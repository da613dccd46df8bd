// An iterative dataflow program: PageRank as seven nodes with a loop. It stands for engines that are no
// database, and is built outside Tailor's tree, on the installed headers alone
// (docs/integrate-your-engine.md).
#pragma once

#include <tailor/agent.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/tagging/dictionary_builder.h"

namespace flow {

// A directed graph in compressed rows: the targets of v are targets[row[v]] .. targets[row[v + 1] - 1].
struct Graph {
  std::vector<std::uint64_t> row;
  std::vector<std::uint32_t> targets;
  std::uint64_t vertices() const { return row.size() - 1; }
};

// What generated code works on. Its layout is known to both code generators.
struct State {
  const std::uint64_t* row;
  const std::uint32_t* targets;
  double* rank;
  double* next;
  std::uint64_t vertices;
  double delta;
};

// One iteration: pushes every rank along its edges, damps, and leaves in delta how much changed.
using Iteration = void(State*);

// The nodes of the dataflow graph, and their steps in the fused loops. Steps are what tags name.
struct Program {
  tailor::tagging::DictionaryBuilder plan;
  tailor::ComponentId read, gather, scatter, damp, delta, converge, top;  // level "node"
  tailor::ComponentId read_step, gather_step, scatter_step, damp_step, delta_step, control_step, top_step;
  tailor_plan_ids ids{};
  std::uint32_t tags;  // enum tailor_tag_strategy

  // `lowest` is the name of the lowest level: what the code generator's components are.
  Program(const std::string& lowest, std::uint32_t tag_strategy);
};

// Generated code, and whatever keeps it alive.
class Generated {
 public:
  virtual ~Generated() = default;
  virtual Iteration* iteration() const = 0;
  // Of a step of the engine's own code around it, on the levels that tags of this code name.
  virtual std::uint64_t tag(const Program& program, tailor::ComponentId node,
                            tailor::ComponentId step) const = 0;
};

// Three code generators for the same program: LLVM IR through tailor's adapter; C through gcc, whose DWARF
// line table is read back; and machine code written by the engine itself, which logs what each byte descends
// from. All load their code objects into the agent. Null with a message on stderr if they cannot.
std::unique_ptr<Generated> generate_llvm(Program& program);
std::unique_ptr<Generated> generate_c(Program& program, const std::string& folder);
std::unique_ptr<Generated> generate_emitted(Program& program);

}  // namespace flow

// Shared by two nodes: adds to an element of a vector, the way a runtime would (out of line, compiled once).
extern "C" void flow_add(double* vector, std::uint64_t index, double value);
