// A workflow of user-defined functions (UDFs), as its file says it (docs/workflows.md): inputs, shared
// contexts, and the statements that run one after the other. The model is that of Tupleware (Crotty et al.,
// "An Architecture for Compiling UDF-centric Workflows", PVLDB 8(12), 2015, section 3). Names are resolved;
// nothing is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/result.h"

namespace tailor::weft::workflow {

// A place in the workflow's file, both from 1.
struct Place {
  unsigned line = 0;
  unsigned column = 0;
};

// "FILE:LINE:COLUMN: MESSAGE".
Error error_at(const std::string& file, Place place, const std::string& message);

enum class Scalar : unsigned char { kF64, kF32, kI64, kI32 };
const char* scalar_name(Scalar scalar);  // "f64"
std::uint64_t scalar_bytes(Scalar scalar);

// A field of a tuple: one value, or an array of `count` values that functions see through a pointer.
struct Field {
  std::string name;
  Scalar scalar = Scalar::kF64;
  std::uint64_t count = 0;  // 0: one value
  Place place;

  std::uint64_t values() const { return count == 0 ? 1 : count; }
  std::uint64_t bytes() const { return values() * scalar_bytes(scalar); }
};

struct Argument {
  enum class Kind : unsigned char { kField, kContext, kInteger, kReal };
  Kind kind = Kind::kInteger;
  std::uint32_t index = 0;  // of the pipeline's field, or of the context
  std::int64_t integer = 0;
  double real = 0;
  Place place;
};

// A call of a user's function.
struct Call {
  std::string function;
  std::vector<Argument> arguments;
  Place place;
};

// Tuples that pipelines read: made by a function, row by row, or read from a file.
struct Input {
  std::string name;
  std::vector<Field> fields;
  std::uint64_t rows = 0;         // where a function makes them
  std::string path;               // else: a .csv or .npy file
  std::optional<Call> generator;  // gets the number of the row, its arguments, a pointer to each field
  Place place;
};

// Memory that all functions share. It has a name, a fixed shape and, at the start, one value everywhere.
struct Context {
  std::string name;
  Scalar scalar = Scalar::kF64;
  std::vector<std::uint64_t> shape;  // none: one value; [n]: a vector; [n, m]: n rows of m values
  double initial = 0;
  Place place;

  std::uint64_t values() const;
  std::uint64_t bytes() const { return values() * scalar_bytes(scalar); }
  // What a key chooses among: the elements of a vector, or the rows of a matrix. 1 for one value.
  std::uint64_t slots() const { return shape.empty() ? 1 : shape.front(); }
};

// How several workers change one context (Tupleware, section 3.2).
enum class Pattern : unsigned char {
  kParallel,      // each worker has a copy; `combine` brings them together at the end of the pipeline
  kSynchronous,   // one worker at a time
  kAsynchronous,  // as they come: the workflow's author answers for the result
};
const char* pattern_name(Pattern pattern);

enum class OperatorKind : unsigned char { kMap, kFilter, kFlatmap, kJoin, kReduce, kUpdate };
const char* operator_kind_name(OperatorKind kind);

// One operator of a pipeline.
struct PipelineOperator {
  OperatorKind kind = OperatorKind::kMap;
  Place place;
  Call call;                                // all but join
  std::vector<std::uint32_t> outputs;       // map, flatmap, join: fields of the pipeline
  std::uint64_t most = 0;                   // flatmap: tuples a call may give
  std::optional<std::uint32_t> key;         // reduce: the field that chooses the slot; join: the one compared
  std::uint32_t input = 0;                  // join: whose tuples it looks for
  std::uint32_t input_key = 0;              // join: the field of that input that `key` must equal
  std::vector<std::uint32_t> input_fields;  // join: the field of that input for each of `outputs`
  std::vector<std::uint32_t> contexts;      // reduce: the one it adds to; update: those it may change
  Pattern pattern = Pattern::kSynchronous;
  std::string combine;  // kParallel: the function that brings two values together
  double start = 0;     // kParallel: what a worker's copy holds at first, the neutral element of `combine`
};

struct Statement {
  enum class Kind : unsigned char { kPipeline, kUpdate, kLoop };
  Kind kind = Kind::kPipeline;
  Place place;
  // kPipeline: all fields that tuples have somewhere in it, those of the input first.
  std::uint32_t input = 0;
  std::vector<Field> fields;
  std::vector<PipelineOperator> operators;
  // kUpdate: runs once. kLoop: `until`, asked after each iteration.
  std::optional<Call> call;
  std::vector<std::uint32_t> contexts;  // kUpdate: those it may change
  // kLoop
  std::string name;
  std::uint64_t count = 0;             // iterations at most
  std::optional<std::uint32_t> watch;  // a context of one value, noted after each iteration
  std::vector<Statement> body;
};

// Where a file of functions is named, so that the name can be replaced.
struct UdfFile {
  std::string path;  // as written
  Place place;
  std::size_t offset = 0;  // of the quoted path in the workflow's text
  std::size_t size = 0;    // with its quotes
};

struct Workflow {
  std::string file;  // for errors
  std::string name;
  std::string text;
  std::vector<UdfFile> udfs;
  std::vector<Input> inputs;
  std::vector<Context> contexts;
  std::vector<std::pair<std::string, std::int64_t>> constants;  // of `let`, as set
  std::vector<Statement> statements;
  std::vector<std::uint32_t> shown;  // contexts
};

}  // namespace tailor::weft::workflow
