#include "compiler/weft/exec/components.h"

#include <array>

namespace tailor::weft {
namespace {

constexpr std::array kNames = {"load",     "parse",  "optimise", "generate code", "compile", "register plan",
                               "schedule", "memory", "output",   "session",       "exit"};

const std::array<std::uint32_t, kNames.size()>& numbers() {
  static const auto numbers = [] {
    std::array<std::uint32_t, kNames.size()> out{};
    for (std::size_t i = 0; i < kNames.size(); ++i) out[i] = tailor_component_declare(kNames[i]);
    return out;
  }();
  return numbers;
}

}  // namespace

WorkScope::WorkScope(EngineWork work) : number_(numbers()[static_cast<std::size_t>(work)]) {
  tailor_mark_component_begin(number_);
}

void begin_exit() {
  tailor_mark_component_begin(numbers()[static_cast<std::size_t>(EngineWork::kExit)]);
}

}  // namespace tailor::weft
