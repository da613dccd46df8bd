// What a user's function must look like in C, so that an operator can call it (docs/workflows.md,
// "Functions").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/weft/workflow/workflow.h"

namespace tailor::weft::workflow {

struct ParameterSpec {
  enum class Kind : unsigned char {
    kRow,       // an i64: the number of the tuple, from 0 on
    kValue,     // of type `scalar`
    kReadable,  // a pointer to values of that type
    kWritable,  // the same, and the function may change them
    kConstant,  // a number of the workflow: of any arithmetic type that can hold it
  };
  Kind kind = Kind::kValue;
  Scalar scalar = Scalar::kF64;
  std::string name;
  std::uint64_t stride = 0;  // of pointers: values from a tuple's to the next one's; 0: all see the same
  Argument argument;         // kConstant
  // Each tuple has its own in the memory of an input, one after the other.
  bool is_streamed = false;
};

struct SignatureSpec {
  enum class Returns : unsigned char {
    kNothing,
    kValue,  // of type `scalar`
    kTruth,  // bool, or a whole number: not 0 is true
    kCount,  // a whole number: how many tuples were written
  };
  Returns result = Returns::kNothing;
  Scalar scalar = Scalar::kF64;
  std::vector<ParameterSpec> parameters;
};

// Of an operator of `pipeline` that calls a function. The arguments come as written. A reduce gets the slot
// that it adds to before them: by value, returning the new value, if the slot is one value, else by pointer.
// Fields that are made come after them, as pointers; a map to one value returns it instead.
SignatureSpec operator_signature(const Workflow& workflow, const Statement& pipeline,
                                 const PipelineOperator& op);
// Of an update that runs once.
SignatureSpec update_signature(const Workflow& workflow, const Statement& update);
// Of the condition of a loop, which has one.
SignatureSpec until_signature(const Workflow& workflow, const Statement& loop);
// Of a function that combines two values.
SignatureSpec combine_signature(Scalar scalar);
// Of a function that makes a row.
SignatureSpec generator_signature(const Workflow& workflow, const Input& input);

// "extern "C" int64_t nearest(const double* p, int64_t clusters)"
std::string c_declaration(const std::string& function, const SignatureSpec& signature);

// Whether the slot that `op`, a reduce, adds to is one value.
bool reduces_value(const Workflow& workflow, const PipelineOperator& op);

// Calls `visit` for every use of a function, in the order of the file: inputs first, then the statements.
using VisitFunction =
    std::function<void(const std::string& function, Place place, const SignatureSpec& signature)>;
void visit_functions(const Workflow& workflow, const VisitFunction& visit);

}  // namespace tailor::weft::workflow
