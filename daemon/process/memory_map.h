// What the memory of one process is by its mappings: stack, code, constants and so on. For data addresses
// that lie in no region an engine registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

namespace tailor::process {

// Stored, behind profile::kFirstMappedRegion: never renumber.
enum class MemoryArea : std::uint8_t {
  kStack = 0,
  kCode = 1,          // mapped executable
  kConstants = 2,     // cannot be written: constants of libraries and of generated code
  kStaticData = 3,    // of the program and its libraries: a file's private mapping, and what follows it
  kSharedMemory = 4,  // writable and shared
  kHeap = 5,          // all other memory that can be written
};
inline constexpr std::size_t kMemoryAreas = 6;

// As a report shows it.
std::string_view name_of(MemoryArea area);

// A mapping as the kernel says it.
struct NewMapping {
  std::uint64_t begin = 0, size = 0;
  bool readable = false, writable = false, executable = false;
  bool shared = false;
  std::string_view name;  // a path, "[stack]", "//anon" or ""
};

// How many mappings all maps that share it hold. A forked process shares its parent's map until one of both
// changes it: a process that forks without end, and maps a page between, would have a copy for each.
struct MapBudget {
  std::size_t most = std::size_t{1} << 22;
  std::size_t held = 0;
};

// One thread. New mappings take the place of older ones; that memory is unmapped is not heard of.
class MemoryMap {
 public:
  // Mappings beyond `most` are left out, and beyond what `budget` has, which must outlive it; NULL: no bound.
  explicit MemoryMap(std::size_t most, MapBudget* budget = nullptr)
      : most_(most), areas_(std::make_shared<Shared>(budget)) {}
  // A copy shares the memory of the other until one of both changes.

  void map(const NewMapping& mapping);
  void clear();

  // What `address` is, for a thread whose stack pointer is `stack`, 0: not known. Nothing is known of memory
  // that was never heard of. A thread's stack is a mapping like the heap's, so within the mapping of the
  // stack pointer what is less than kStackReach above it counts as stack.
  static constexpr std::uint64_t kStackReach = std::uint64_t{256} << 10;
  static constexpr std::uint64_t kRedZone = 128;  // below it
  struct Found {
    bool known = false;
    MemoryArea area = MemoryArea::kHeap;
  };
  Found find(std::uint64_t address, std::uint64_t stack) const;

  std::size_t size() const { return areas_->areas.size(); }
  // How many of them are freed with this map: none that a copy shares.
  std::size_t own_size() const { return areas_.use_count() == 1 ? areas_->areas.size() : 0; }
  std::uint64_t refused() const { return refused_; }

 private:
  struct Area {
    std::uint64_t end;
    MemoryArea what;
  };
  using Areas = std::map<std::uint64_t, Area>;  // by begin
  struct Shared {
    explicit Shared(MapBudget* from) : budget(from) {}
    ~Shared() { count(0); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    void count(std::size_t now);
    Areas areas;
    MapBudget* budget;
    std::size_t counted = 0;
  };
  bool own();
  bool has_room() const;
  Areas::const_iterator area_at(std::uint64_t address) const;
  void make_room(std::uint64_t begin, std::uint64_t end);
  MemoryArea kind_of(const NewMapping& mapping) const;

  std::size_t most_;
  std::shared_ptr<Shared> areas_;
  std::uint64_t refused_ = 0;
};

}  // namespace tailor::process
