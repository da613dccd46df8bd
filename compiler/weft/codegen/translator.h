// One operator's code generation.
//
// Lifecycle: constructed top-down with its inputs; Produce is called once, by the consumer; Consume once for
// every place in the generated code where a tuple of an input arrives (usually one, see Compilation).
// State: offsets into the query's memory that it reserved. Data flows leaf to root, calls of Produce root to
// leaf.
#pragma once

#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

class Translator {
 public:
  Translator(Compilation& compilation, const Operator& op, Translator* parent, std::uint32_t parent_input)
      : c_(compilation), op_(op), parent_(parent), parent_input_(parent_input) {}
  virtual ~Translator() = default;
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;

  // Registers tasks, begins pipelines where tuples are materialised, and asks the inputs to produce.
  virtual void Produce() = 0;
  // Generates what happens to one tuple of input `input`; the values of its units are bound.
  virtual void Consume(std::uint32_t input) = 0;
  // The task on whose behalf Consume(input) generates.
  virtual ComponentId TaskOf(std::uint32_t input) const = 0;

  const Operator& op() const { return op_; }
  Translator* parent() const { return parent_; }
  std::uint32_t parent_input() const { return parent_input_; }
  void AddInput(Translator& input) { inputs_.push_back(&input); }

 protected:
  Translator& input(std::size_t i) const { return *inputs_[i]; }

  Compilation& c_;

 private:
  const Operator& op_;
  Translator* parent_;
  std::uint32_t parent_input_;
  std::vector<Translator*> inputs_;
};

std::unique_ptr<Translator> MakeScan(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> MakeFilter(Compilation&, const Operator&, Translator* parent,
                                       std::uint32_t input);
std::unique_ptr<Translator> MakeMap(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> MakeHashJoin(Compilation&, const Operator&, Translator* parent,
                                         std::uint32_t input);
std::unique_ptr<Translator> MakeGroupBy(Compilation&, const Operator&, Translator* parent,
                                        std::uint32_t input);
std::unique_ptr<Translator> MakeGlobalAggregate(Compilation&, const Operator&, Translator* parent,
                                                std::uint32_t input);
std::unique_ptr<Translator> MakeGroupJoin(Compilation&, const Operator&, Translator* parent,
                                          std::uint32_t input);
std::unique_ptr<Translator> MakeSort(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> MakeLimit(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> MakeOutput(Compilation&, const Operator&, Translator* parent,
                                       std::uint32_t input);

}  // namespace tailor::weft
