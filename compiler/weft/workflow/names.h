// The names of a workflow file that hold everywhere in it: constants, inputs and contexts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compiler/weft/workflow/workflow.h"

namespace tailor::weft::workflow {

struct NamedThing {
  enum class Kind : unsigned char { kConstant, kInput, kContext };
  Kind kind = Kind::kConstant;
  std::uint32_t index = 0;  // in the workflow's list of its kind
  Place place;
};

class NameTable {
 public:
  // False if the name is taken.
  bool add(const std::string& name, NamedThing thing) { return things_.emplace(name, thing).second; }
  const NamedThing* find(const std::string& name) const {
    const auto found = things_.find(name);
    return found == things_.end() ? nullptr : &found->second;
  }
  std::optional<std::uint32_t> find(const std::string& name, NamedThing::Kind kind) const {
    const NamedThing* thing = find(name);
    if (thing == nullptr || thing->kind != kind) return std::nullopt;
    return thing->index;
  }

 private:
  std::map<std::string, NamedThing> things_;
};

// "a constant"
inline const char* thing_name(NamedThing::Kind kind) {
  switch (kind) {
    case NamedThing::Kind::kConstant:
      return "a constant";
    case NamedThing::Kind::kInput:
      return "an input";
    case NamedThing::Kind::kContext:
      return "a context";
  }
  return "?";
}

}  // namespace tailor::weft::workflow
