// Small accessors for libpg-query's JSON, in which members with default values are left out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tailor::weft {

inline const nlohmann::json& member(const nlohmann::json& node, const char* name) {
  static const nlohmann::json kNothing;
  auto found = node.find(name);
  return found == node.end() ? kNothing : *found;
}

inline std::string text_of(const nlohmann::json& node, const char* name) {
  const nlohmann::json& value = member(node, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

inline bool flag_of(const nlohmann::json& node, const char* name) {
  return member(node, name) == true;
}

// 0 where the member is missing: that is what leaving out a default means.
inline int integer_of(const nlohmann::json& node, const char* name) {
  const nlohmann::json& value = member(node, name);
  return value.is_number_integer() ? value.get<int>() : 0;
}

inline int location_of(const nlohmann::json& body) {
  return member(body, "location").is_number_integer() ? integer_of(body, "location") : -1;
}

// The first place in the text that anything in the subtree names; -1 if nothing does. Nodes without a place
// of their own, such as a union, stand where their first part stands.
inline int first_location(const nlohmann::json& node) {
  int first = -1;
  auto visit = [&](auto& self, const nlohmann::json& part) -> void {
    if (!part.is_structured()) return;
    if (part.is_object()) {
      if (int own = location_of(part); own >= 0 && (first < 0 || own < first)) first = own;
    }
    for (const nlohmann::json& below : part) self(self, below);
  };
  visit(visit, node);
  return first;
}

// The texts of a list of String nodes: names of columns, functions, types, operators.
inline std::vector<std::string> strings_of(const nlohmann::json& list) {
  std::vector<std::string> texts;
  for (const auto& item : list) {
    if (item.contains("String")) texts.push_back(text_of(item["String"], "sval"));
  }
  return texts;
}

}  // namespace tailor::weft
