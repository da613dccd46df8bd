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

// Of one component. An operator that reads every column of a wide table has some hundred.
inline constexpr int kMaxAccesses = 4096;

inline constexpr int kMaxWaitNames = 4096;
inline constexpr std::size_t kMaxWaitNameBytes = 63;

inline constexpr int kMaxHolders = 16;  // of locks that one process waits for

inline constexpr std::uint32_t kMaxNotices = 16;  // kinds of them
inline constexpr std::size_t kMaxNoticeBytes = 4096;

inline constexpr std::uint32_t kMaxArenas = 256;  // of one connection
inline constexpr std::uint32_t kMaxAreas = 4096;  // of one arena
inline constexpr std::uint32_t kMaxAreasOfConnection =
    16384;  // of all its arenas: each is looked at again and again
inline constexpr std::uint32_t kMinLogRecords = 16;
inline constexpr std::uint32_t kMaxLogRecords = 1u << 16;
inline constexpr std::uint64_t kMaxArenaBytes = std::uint64_t{256} << 20;      // address space, not memory
inline constexpr std::uint64_t kMaxConnectionArenas = std::uint64_t{3} << 30;  // bytes of all of them

inline constexpr std::size_t kMaxConnections = 4096;
inline constexpr std::size_t kMaxRejections = 256;  // of one connection, then it is closed
// All labels of an execution, keys and values: they are kept for as long as it runs, and longer in the store.
inline constexpr std::size_t kMaxLabelBytes = 2 * 1024 * 1024;

// Labels that are said once for many executions (label_sets.h): sets of a connection, and the bytes of keys
// and values of a set. An agent is told the first number, and knows the second.
inline constexpr std::uint32_t kMaxLabelSets = 64;
inline constexpr std::size_t kMaxLabelSetBytes = 16 * 1024;

// ---- What one process, or all processes of one user, may hold. ----
// What is beyond is not kept. The limit is counted and told, and the connection goes on.
//
// Engine components and kinds of regions of a process, and the bytes of their names.
inline constexpr std::size_t kMaxNamesOfProcess = 131'072;
inline constexpr std::size_t kMaxNameBytesOfProcess = std::size_t{16} << 20;
// Messages of the plans that are loaded, and of code objects without their machine code: names, links, rows,
// attachments.
inline constexpr std::size_t kMaxPlanBytesOfProcess = std::size_t{256} << 20;
inline constexpr std::size_t kMaxCodeBytesOfProcess = std::size_t{512} << 20;
// Plans and code objects that are loaded, of a user.
inline constexpr std::size_t kMaxUserDictionaries = std::size_t{1} << 20;
// Descriptors of the daemon that a user's processes take: two for a connection, one for an arena, which is a
// mapping too. The kernel allows a process 65,530 mappings (vm.max_map_count). Where the daemon may have few
// descriptors, a user has three quarters of them at most.
inline constexpr std::size_t kMaxUserDescriptors = 16'384;
inline constexpr std::size_t kDescriptorsOfConnection = 2;

// No record of a log is written in fewer cycles of the TSC: a head that grew faster lies.
inline constexpr std::uint64_t kTscARecord = 4;

// ---- What one call of Server::poll() may do, so that no process waits long for its turn. ----
// The process that said or wrote least of late gets a share first. All together get this much. A message that
// does not fit into a packet is taken whole.
inline constexpr std::size_t kPacketsAShare = 64;
inline constexpr std::size_t kBytesAShare = 64 * 1024;
inline constexpr std::size_t kMessagesAPoll = 512;  // a small one takes some 15 us, with what it leads to
inline constexpr std::size_t kBytesAPoll = 2 * 1024 * 1024;
// Of log records everybody's share is read: a log that is not read in time is overwritten.
inline constexpr std::size_t kRecordsAShare = 16 * 1024;
inline constexpr std::size_t kAreasAShare = 512;  // heads looked at
inline constexpr std::size_t kRecordsAPoll = 500'000;
// A message with more bytes is read on a thread of its user. The second bounds the bytes of one user's
// messages that are being read there, or were read and are still worked at.
inline constexpr std::size_t kReadAtOnceBytes = 256 * 1024;
inline constexpr std::size_t kLargeBytesOfUser = kMaxMessageBytes;
// What a packet costs beside its bytes.
inline constexpr std::size_t kPacketCost = 512;
// New connections and new processes: each costs far more than a message.
inline constexpr int kAcceptsAPoll = 64;
inline constexpr int kHellosAPoll = 8;
// Of one user: descriptors that are no memory files and wait to be closed. Closing them may take as long as
// the user likes, so nothing more of this user is read meanwhile. The same of memory files, which agents
// pass: as many do not wait unless they are large.
inline constexpr std::size_t kMostForeignDescriptors = 64;
inline constexpr std::size_t kMostMemoryFiles = 256;

}  // namespace tailor::registration
