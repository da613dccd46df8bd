// One operator's code generation.
//
// Lifecycle: constructed top-down with its inputs; produce() is called once, by the consumer; consume() once
// for every place in the generated code where a tuple of an input arrives (usually one, see Compilation).
// State: offsets into the query's memory that it reserved. Data flows leaf to root, calls of produce() root
// to leaf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/weft/plan/operator.h"
#include "proto/base/ids.h"

namespace tailor::weft {

class Compilation;

class Translator {
 public:
  Translator(Compilation& compilation, const Operator& op, Translator* parent, std::uint32_t parent_input)
      : c_(compilation), op_(op), parent_(parent), parent_input_(parent_input) {}
  virtual ~Translator() = default;
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;

  // Registers tasks, begins pipelines where tuples are materialised, and asks the inputs to produce.
  virtual void produce() = 0;
  // Generates what happens to one tuple of input `input`; the values of its units are bound.
  virtual void consume(std::uint32_t input) = 0;
  // The task on whose behalf consume(input) generates.
  virtual ComponentId task_of(std::uint32_t input) const = 0;

  const Operator& op() const { return op_; }
  Translator* parent() const { return parent_; }
  std::uint32_t parent_input() const { return parent_input_; }
  void add_input(Translator& input) { inputs_.push_back(&input); }

 protected:
  Translator& input(std::size_t i) const { return *inputs_[i]; }

  Compilation& c_;

 private:
  const Operator& op_;
  Translator* parent_;
  std::uint32_t parent_input_;
  std::vector<Translator*> inputs_;
};

std::unique_ptr<Translator> make_scan(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> make_filter(Compilation&, const Operator&, Translator* parent,
                                        std::uint32_t input);
std::unique_ptr<Translator> make_map(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> make_hash_join(Compilation&, const Operator&, Translator* parent,
                                           std::uint32_t input);
std::unique_ptr<Translator> make_group_by(Compilation&, const Operator&, Translator* parent,
                                          std::uint32_t input);
std::unique_ptr<Translator> make_global_aggregate(Compilation&, const Operator&, Translator* parent,
                                                  std::uint32_t input);
std::unique_ptr<Translator> make_group_join(Compilation&, const Operator&, Translator* parent,
                                            std::uint32_t input);
std::unique_ptr<Translator> make_sort(Compilation&, const Operator&, Translator* parent, std::uint32_t input);
std::unique_ptr<Translator> make_limit(Compilation&, const Operator&, Translator* parent,
                                       std::uint32_t input);
std::unique_ptr<Translator> make_output(Compilation&, const Operator&, Translator* parent,
                                        std::uint32_t input);

}  // namespace tailor::weft
