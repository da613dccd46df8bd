// Reads the operators of one pipeline of a workflow file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/weft/workflow/part_parser.h"

namespace tailor::weft::workflow {

// Its functions throw ParseFailure.
class PipelineParser : private PartParser {
 public:
  // `pipeline` has the fields of its input. All outlive the parser.
  PipelineParser(Workflow& workflow, NameTable& names, Statement& pipeline)
      : PartParser(workflow, names), pipeline_(pipeline) {}

  // One line: the next operator.
  void parse(TokenCursor& at);
  // What can be judged only when all operators are known.
  void finish(const TokenCursor& at) const;

 private:
  void outputs(TokenCursor& at, PipelineOperator& op);
  // INPUT on FIELD = FIELD
  void join(TokenCursor& at, PipelineOperator& op);
  // The number of a field of `fields` that holds one whole number. `owner`: whose fields they are, for
  // errors.
  static std::uint32_t key(TokenCursor& at, const std::vector<Field>& fields, const std::string& owner);
  // [parallel] combine FUNCTION [start NUMBER] | synchronous | asynchronous
  void pattern(TokenCursor& at, PipelineOperator& op) const;
  void check_stack(const TokenCursor& at, const PipelineOperator& op);
  void check_reads(const TokenCursor& at, const PipelineOperator& op,
                   const std::vector<const PipelineOperator*>& writers) const;

  Statement& pipeline_;
  std::uint64_t stack_bytes_ = 0;  // of the fields that operators make
};

}  // namespace tailor::weft::workflow
