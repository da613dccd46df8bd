// What lowering gives to the scheduler of workflows: the steps in their order, and where generated code finds
// its memory. Holds no LLVM object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/weft/workflow/workflow.h"
#include "proto/base/ids.h"

namespace tailor::weft::workflow {

// The first words of the shared block: what a condition says, and the mutex of synchronous operators (a
// pointer).
inline constexpr std::size_t kTruthOffset = 0;
inline constexpr std::size_t kMutexOffset = 8;
// Then a pointer to each column, in the order of inputs and fields, and three words for each index of a join:
// pointers to its buckets and links, and its shift (join_index.h).
inline constexpr std::size_t kColumnsOffset = 16;
inline constexpr std::size_t kIndexBytes = 24;
// The first words of a worker's block are those of a query (kLocalSlotOffset,
// compiler/weft/codegen/program.h): the place of its tag, and a word for threads without one. Then a pointer
// to each context, as this worker sees it: the context itself, or the worker's copy while a pipeline adds to
// it in parallel.
inline constexpr std::size_t kContextsOffset = 16;

// Brings a worker's copy of a context together with the context: void(shared, local, first value, end).
struct CombineCode {
  std::string function;
  std::uint32_t pipeline = 0;  // in the plan dictionary
  ComponentId operator_id = kNoComponent;
  ComponentId task = kNoComponent;
  std::uint32_t context = 0;
  double start = 0;  // what the copies hold at first
};

// Finds the tuples of an input by a field. Made before the first pipeline that needs it.
struct IndexCode {
  std::uint32_t input = 0, field = 0;
  std::size_t offset = 0;                                       // in the shared block
  ComponentId operator_id = kNoComponent, task = kNoComponent;  // the first join that uses it
};

struct StepCode {
  enum class Kind : unsigned char { kGenerate, kPipeline, kUpdate, kLoop };
  Kind kind = Kind::kPipeline;
  Place place;
  ComponentId operator_id = kNoComponent;  // the input, the first operator, the update or the loop
  // kLoop: of its condition; empty if it has none.
  std::string function;        // void(shared, local, first tuple, end)
  std::uint32_t pipeline = 0;  // in the plan dictionary
  std::uint32_t input = 0;     // kGenerate, kPipeline
  std::vector<CombineCode> combines;
  std::vector<std::uint32_t> indexes;  // of WorkflowProgram, that kPipeline needs
  // kLoop
  std::string name;
  std::uint64_t count = 0;
  std::optional<std::uint32_t> watch;
  std::vector<StepCode> body;
};

// A user's function that an operator of a pipeline, or an input, calls for its tuples.
struct UdfUse {
  ComponentId task = kNoComponent;
  std::string function;
  Place place;                 // of the call
  std::uint32_t pipeline = 0;  // in the plan dictionary
  // Called once for each tuple that the pipeline reads: no operator before drops or adds any.
  bool every_tuple = true;
};

struct WorkflowProgram {
  std::vector<StepCode> steps;
  std::vector<std::vector<std::size_t>> column_offsets;  // by input and field, in the shared block
  std::vector<IndexCode> indexes;
  std::size_t shared_bytes = 0, local_bytes = 0;
  std::vector<ComponentId> input_operators;    // by input
  std::vector<ComponentId> context_operators;  // the first that changes it; kNoComponent: none does
  std::vector<std::string>
      function_names;  // of users' functions, by component of the level "udf"; "" for the others
  std::vector<UdfUse> udf_uses;
};

}  // namespace tailor::weft::workflow
