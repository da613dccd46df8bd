// Limits of what one workflow file may say. They bound the generated code, and keep component ids inside of a
// tag.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailor::weft::workflow {

inline constexpr std::size_t kMostFields = 64;      // of a pipeline
inline constexpr std::size_t kMostContexts = 64;    // and as many inputs
inline constexpr std::size_t kMostOperators = 512;  // of the whole file, with loops and updates
inline constexpr std::size_t kMostArguments = 32;
inline constexpr std::size_t kMostUdfFiles = 16;
inline constexpr std::size_t kMostLoops = 4;  // within each other
inline constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMostValues = std::uint64_t{1} << 32;  // of a context
inline constexpr std::uint64_t kMostCount = std::uint64_t{1} << 16;   // values of an array field
inline constexpr std::uint64_t kMostTuples = std::uint64_t{1} << 16;  // of one call of a flatmap
inline constexpr std::uint64_t kMostIterations = 1'000'000'000;
// An array field that an operator makes lies on the stack.
inline constexpr std::uint64_t kMostStackBytes = std::uint64_t{256} << 10;

}  // namespace tailor::weft::workflow
