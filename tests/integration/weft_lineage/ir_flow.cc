#include "tests/integration/weft_lineage/ir_flow.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace tailor::weft {
namespace {

bool is_instruction(std::string_view line) {
  return line.starts_with("  ");
}

// The name at the start of `text`, which a % came before.
std::string_view name_at(std::string_view text) {
  if (text.starts_with('"')) return text.substr(0, text.find('"', 1) + 1);
  const std::size_t end =
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789$._-");
  return text.substr(0, end);
}

// What stands behind "%name = ", and the name: empty where the line makes no value.
std::pair<std::string_view, std::string_view> split_result(std::string_view line) {
  if (!line.starts_with("  %")) return {"", line.substr(std::min<std::size_t>(2, line.size()))};
  const std::string_view name = name_at(line.substr(3));
  const std::size_t behind = 3 + name.size() + std::string_view(" = ").size();
  return {name, line.substr(std::min(behind, line.size()))};
}

// "tail call i64 @f(...)" -> "call".
std::string opcode_of(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string word;
  words >> word;
  while (word == "tail" || word == "musttail" || word == "notail") words >> word;
  return word;
}

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    names.push_back(name_at(text.substr(at + 1)));
  return names;
}

// The lines of one function; `first` is the id of its heading.
class FunctionReader {
 public:
  FunctionReader(std::span<const std::string> texts, ComponentId first, std::vector<IrLine>& lines)
      : texts_(texts), first_(first), lines_(lines) {
    std::string_view block;
    for (std::size_t i = 1; i < texts_.size(); ++i) {
      const std::string_view text = texts_[i];
      if (!is_instruction(text)) {
        block = text.substr(0, text.rfind(':'));
        continue;
      }
      const std::string_view name = split_result(text).first;
      if (!name.empty()) values_[name] = id_of(i);
      ends_[block] = id_of(i);
    }
  }

  void run() {
    for (std::size_t i = 1; i < texts_.size(); ++i) {
      if (is_instruction(texts_[i])) add_needs(i);
    }
  }

 private:
  ComponentId id_of(std::size_t i) const { return first_ + static_cast<ComponentId>(i); }
  IrLine& line(ComponentId id) { return lines_[id - 1]; }

  void add_needs(std::size_t i) {
    const ComponentId id = id_of(i);
    const std::string_view text = split_result(texts_[i]).second;
    for (const std::string_view name : names_in(text)) {
      if (const auto value = values_.find(name); value != values_.end()) {
        line(id).needs.push_back(value->second);
      } else if (const auto end = ends_.find(name); end != ends_.end()) {
        // A phi names blocks that come before it, a branch those behind it.
        if (line(id).opcode == "phi")
          line(id).needs.push_back(end->second);
        else
          line(end->second).branches_before.push_back(id);
      }
    }
    if (line(id).opcode == "store" && !line(id).needs.empty()) add_stored(id);
  }

  // What is stored in a variable is what its loads load.
  void add_stored(ComponentId store) {
    ComponentId address = line(store).needs.back();
    while (line(address).opcode == "getelementptr" && !line(address).needs.empty())
      address = line(address).needs.front();
    if (line(address).opcode == "alloca" && address != store) line(address).needs.push_back(store);
  }

  std::span<const std::string> texts_;
  ComponentId first_;
  std::vector<IrLine>& lines_;
  std::map<std::string_view, ComponentId> values_;  // by name: who makes it
  std::map<std::string_view, ComponentId> ends_;    // by block: its last instruction
};

}  // namespace

std::vector<IrLine> read_listing(const std::string& listing) {
  std::vector<std::string> texts;
  std::istringstream in(listing);
  for (std::string text; std::getline(in, text);) texts.push_back(text);
  std::vector<IrLine> lines;
  std::vector<std::size_t> heads;
  for (const std::string& text : texts) {
    std::string function = lines.empty() ? "" : lines.back().function;
    if (text.starts_with("define ")) {
      const std::size_t at = text.find('@') + 1;
      function = text.substr(at, text.find('(') - at);
      heads.push_back(lines.size());
    }
    lines.push_back({is_instruction(text) ? opcode_of(split_result(text).second) : "", function, {}, {}});
  }
  heads.push_back(texts.size());
  for (std::size_t f = 0; f + 1 < heads.size(); ++f) {
    const auto of_function = std::span(texts).subspan(heads[f], heads[f + 1] - heads[f]);
    FunctionReader(of_function, static_cast<ComponentId>(heads[f] + 1), lines).run();
  }
  return lines;
}

void IrFlow::set_in_code(std::vector<bool> in_code) {
  in_code_ = std::move(in_code);
  sources_.clear();
}

// Operations of a sum may be done in any order, and each of them may then be the first.
bool IrFlow::is_one_sum(ComponentId a, ComponentId b) const {
  const auto is_of_sum = [&](ComponentId id) {
    return lines_[id - 1].opcode == "add" || lines_[id - 1].opcode == "sub";
  };
  return is_of_sum(a) && is_of_sum(b);
}

// The nearest lines before `id` that the code has. A branch that chooses for a phi may do so by others before
// it, all of which a conditional move replaces.
const std::set<ComponentId>& IrFlow::sources_of(ComponentId id) {
  const auto [it, added] = sources_.try_emplace(id);
  if (!added) return it->second;
  std::set<ComponentId> seen;
  std::vector<ComponentId> open{id};
  while (!open.empty()) {
    const ComponentId here = open.back();
    open.pop_back();
    const auto reach = [&](ComponentId source) {
      if (!seen.insert(source).second) return;
      if (in_code_[source]) it->second.insert(source);
      if (!in_code_[source] || is_one_sum(source, here)) open.push_back(source);
    };
    std::ranges::for_each(lines_[here - 1].needs, reach);
    if (here != id) std::ranges::for_each(lines_[here - 1].branches_before, reach);
  }
  return it->second;
}

bool IrFlow::related(std::span<const ComponentId> a, std::span<const ComponentId> b) {
  for (const ComponentId x : a) {
    for (const ComponentId y : b) {
      if (x == y || sources_of(x).contains(y) || sources_of(y).contains(x)) return true;
    }
  }
  return false;
}

}  // namespace tailor::weft
