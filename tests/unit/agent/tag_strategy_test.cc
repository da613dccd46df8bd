// Three enums name where the tag is: that of the C API, that of the wire, and that of the code generator.
// Engines cast from one to another.
#include "compiler/llvm/tag_strategy.h"

#include <gtest/gtest.h>

#include "tailor/agent.h"
#include "tailor/v1/registration.pb.h"

namespace tailor {
namespace {

template <auto Api, auto Wire, auto Code>
constexpr bool same() {
  return static_cast<int>(Api) == static_cast<int>(Wire) && static_cast<int>(Api) == static_cast<int>(Code);
}

TEST(TagStrategy, IsTheSameNumberEverywhere) {
  static_assert(same<TAILOR_TAGS_NONE, v1::TAGS_NONE, jit::TagStrategy::kNone>());
  static_assert(same<TAILOR_TAGS_R15, v1::TAGS_R15, jit::TagStrategy::kR15>());
  static_assert(same<TAILOR_TAGS_SWIFTSELF, v1::TAGS_SWIFTSELF, jit::TagStrategy::kSwiftSelf>());
  static_assert(same<TAILOR_TAGS_MEMORY_SLOT, v1::TAGS_MEMORY_SLOT, jit::TagStrategy::kMemorySlot>());
  // A strategy that is added to one of them is added to all, and here.
  EXPECT_EQ(v1::TagStrategy_MAX, v1::TAGS_MEMORY_SLOT);
}

}  // namespace
}  // namespace tailor
