#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/query/reports/stack_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = tailor::query::StackRules::parse(text);
  if (!rules.ok()) return rules.error().message.empty() ? (std::abort(), 1) : 0;
  if (const auto rule = rules->match("engine::Operator::run"); rule && *rule >= rules->rules.size())
    std::abort();
  return 0;
}
