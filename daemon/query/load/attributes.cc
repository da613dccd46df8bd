#include "daemon/query/load/attributes.h"

#include <fmt/format.h>

namespace tailor::query {

std::string attribute_text(const v1::Attribute& attribute) {
  if (attribute.value_case() == v1::Attribute::kNumber) return fmt::format("{:.12g}", attribute.number());
  return attribute.text();
}

bool is_figure(std::string_view key) {
  return key == "cost" || key == "loops" || key == "wrappers" || key.starts_with("estimated") ||
         key.starts_with("actual_") || key.starts_with("pages_");
}

}  // namespace tailor::query
