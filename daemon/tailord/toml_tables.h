// What the readers of tables in the configuration file share.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/config/config_file.h"
#include "daemon/query/reports/no_such.h"

namespace tailor::tailord {

using config::OnWrong;

// Tells of keys that are not in `known`.
template <typename Keys>
void check_keys(const toml::table& table, const Keys& known, const OnWrong& wrong) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(known, key.str()) == std::end(known))
      wrong(key.source(), query::no_such("key", key.str(), known).message);
  }
}

// Nothing, if it is not there, or wrong.
inline std::optional<std::string> text_of(const toml::table& table, std::string_view key,
                                          const OnWrong& wrong) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  auto text = node->value_exact<std::string>();
  if (text && !text->empty()) return text;
  wrong(node->source(), fmt::format("\"{}\" is a text that is not empty", key));
  return std::nullopt;
}

}  // namespace tailor::tailord
