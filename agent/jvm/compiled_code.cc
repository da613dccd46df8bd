#include "agent/jvm/compiled_code.h"

namespace tailor::jvm {

std::string tier_of(const NmethodFacts& facts) {
  std::string tier = "compiled";
  if (facts.level == 4) tier = "C2";
  if (facts.level >= 1 && facts.level <= 3) tier = "C1, tier " + std::to_string(facts.level);
  return facts.osr ? tier + ", OSR" : tier;
}

}  // namespace tailor::jvm
