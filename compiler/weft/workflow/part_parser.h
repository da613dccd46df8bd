// The parts that several statements of a workflow file have: fields, calls, names of contexts.
#pragma once

#include <string>
#include <vector>

#include "compiler/weft/workflow/names.h"
#include "compiler/weft/workflow/token_cursor.h"
#include "compiler/weft/workflow/workflow.h"

namespace tailor::weft::workflow {

// What every parser of a part needs: the file so far, and the values of its names. Its functions throw
// ParseFailure.
class PartParser {
 public:
  // Both outlive the parser.
  PartParser(Workflow& workflow, NameTable& names) : workflow_(workflow), names_(names) {}

 protected:
  // A whole number, or a constant.
  std::int64_t integer(TokenCursor& at, const char* what) const;
  // The same, from 1 to `most`.
  std::uint64_t extent(TokenCursor& at, const char* what, std::uint64_t most) const;
  static Scalar scalar(TokenCursor& at);
  // A number that a value of this type can hold.
  static double value(TokenCursor& at, Scalar type, const char* what);
  // NAME TYPE or NAME TYPE[COUNT]
  Field field(TokenCursor& at) const;
  void add_field(TokenCursor& at, std::vector<Field>& fields, Field added) const;
  // FUNCTION(ARGUMENT, ...); arguments may name `fields`, contexts and constants, or be numbers.
  Call call(TokenCursor& at, const std::vector<Field>& fields) const;
  std::uint32_t context(TokenCursor& at) const;
  // One or more, each once.
  std::vector<std::uint32_t> contexts(TokenCursor& at) const;
  // What an update may change is among its arguments.
  void check_changes(const TokenCursor& at, const Call& update,
                     const std::vector<std::uint32_t>& changed) const;

  Workflow& workflow_;
  NameTable& names_;

 private:
  Argument argument(TokenCursor& at, const std::vector<Field>& fields) const;
};

}  // namespace tailor::weft::workflow
