// The instructions of machine code between the lines that they descend from.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "daemon/query/reports/annotate_report.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Widths of a listing's columns.
struct ListingColumns {
  std::size_t number = 4, text = 0, owner = 0;
};

class MachineCodeText {
 public:
  // Both must outlive it.
  MachineCodeText(const query::AnnotateReport& report, const Terminal& terminal);

  bool empty() const { return report_.machine_code.empty(); }
  // Which code objects there are; "" if there is none.
  std::string heading() const;
  // The instructions below a line, each a line of text: all, or only those with a cost. Of several lines the
  // first has the instruction.
  std::string below(ComponentId line, bool all, const ListingColumns& columns) const;
  // Those that descend from no line, under a heading; "" if there is none to show.
  std::string of_no_line(bool all, const ListingColumns& columns) const;
  // How wide the text of an owner may be.
  std::size_t owner_width() const;

 private:
  struct Row {
    const query::NativeCode* code;
    const query::NativeInstruction* instruction;
  };

  std::string row_text(const Row& row, const ListingColumns& columns) const;
  std::string place_text(const Row& row) const;
  std::string owner_text(const query::NativeInstruction& instruction) const;

  const query::AnnotateReport& report_;
  const Terminal& terminal_;
  std::map<ComponentId, std::vector<Row>> rows_;  // by line; 0: none
  std::size_t place_width_ = 0;
};

}  // namespace tailor::cli
