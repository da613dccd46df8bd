// What an agent may ask of the daemon. Above: the message or the connection is refused, and counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailor::registration {

inline constexpr std::size_t kMaxPacketBytes = 64 * 1024;
inline constexpr std::size_t kMaxMessageBytes = std::size_t{32} * 1024 * 1024;
// Sub-messages and strings in one message: each costs the receiver far more memory than its two bytes.
inline constexpr std::size_t kMaxElements = 4'000'000;

inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = 1024 * 1024;
inline constexpr int kMaxLabels = 64;
inline constexpr int kMaxLevels = 16;
inline constexpr std::uint32_t kMaxComponents = 1u << 24;  // of one level
inline constexpr std::uint32_t kMaxPipelines = 1u << 16;

inline constexpr std::uint32_t kMaxArenas = 256;  // of one connection
inline constexpr std::uint32_t kMaxAreas = 4096;  // of one arena
inline constexpr std::uint32_t kMinLogRecords = 16;
inline constexpr std::uint32_t kMaxLogRecords = 1u << 16;
inline constexpr std::uint64_t kMaxArenaBytes = std::uint64_t{256} << 20;      // address space, not memory
inline constexpr std::uint64_t kMaxConnectionArenas = std::uint64_t{3} << 30;  // bytes of all of them

inline constexpr std::size_t kMaxConnections = 1024;
inline constexpr std::size_t kMaxConnectionsOfUser = 128;
inline constexpr std::size_t kMaxRejections = 256;  // of one connection, then it is closed

}  // namespace tailor::registration
