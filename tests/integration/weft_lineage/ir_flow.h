// How values flow between the instructions of an IR listing, as it was before optimisation.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::weft {

// A line of the IR listing, as it was before optimisation.
struct IrLine {
  std::string opcode;    // "load"; empty for headings
  std::string function;  // "pipeline_1"
  // The lines that made its operands, of the same function; for a phi also the branches that chose between
  // them; for a variable of the frame, what is stored there.
  std::vector<ComponentId> needs;
  std::vector<ComponentId> branches_before;  // of the last line of a block: those that lead to it
};

// The lines of a listing; lines[id - 1] is the line of a component.
std::vector<IrLine> read_listing(const std::string& listing);

// Optimisation removes instructions, and with them steps of a flow: where the code has the first and the last
// of a flow, and none of those between, values flow from one to the other directly.
class IrFlow {
 public:
  explicit IrFlow(const std::vector<IrLine>& lines) : lines_(lines), in_code_(lines.size() + 1) {}

  // Which components the code has: those that the rows of recorded instructions name.
  void set_in_code(std::vector<bool> in_code);

  // Whether values can flow directly between code of one of `a` and code of one of `b`, in any direction:
  // reassociation turns flows round.
  bool related(std::span<const ComponentId> a, std::span<const ComponentId> b);

 private:
  const std::set<ComponentId>& sources_of(ComponentId id);
  bool is_one_sum(ComponentId a, ComponentId b) const;

  const std::vector<IrLine>& lines_;
  std::vector<bool> in_code_;  // by id
  std::map<ComponentId, std::set<ComponentId>> sources_;
};

}  // namespace tailor::weft
