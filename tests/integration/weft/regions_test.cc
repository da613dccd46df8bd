// What weft tells the profiler of its memory: columns, hash tables, directories, chunks of rows and sort
// runs, each with its name, role, owner, element width, extent and lifetime. The agent speaks to a fake
// daemon, which reads the threads' logs as the real one does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <tailor/agent.h>
#include <tailor/thread_area.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "compiler/weft/exec/columns.h"
#include "compiler/weft/exec/execution.h"
#include "compiler/weft/runtime/symbols.h"
#include "compiler/weft/storage/table_file.h"
#include "tests/unit/agent/fake_daemon.h"

namespace tailor::weft {
namespace {

constexpr std::uint64_t kRows = 20000;

// t(k, v, s): k unique, v null in every 10th row, s a text.
std::unique_ptr<Database> make_table(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ostringstream rows;
  for (std::uint64_t i = 0; i < kRows; ++i)
    rows << i << "|" << (i % 10 == 0 ? "" : std::to_string(i % 1000)) << "|text " << i << "|\n";
  TableDefinition t{"t",
                    {{"k", {.kind = ColumnKind::kInt64}},
                     {"v", {.kind = ColumnKind::kInt64, .nullable = true}},
                     {"s", {.kind = ColumnKind::kVarchar}}},
                    1};
  auto groups = parse_delimited(rows.str(), "text", t.columns, {}, 1, {});
  EXPECT_TRUE(groups.ok());
  EXPECT_TRUE(write_table_file((folder / "t.weft").string(), t, *groups, 1).ok());
  return std::move(*Database::open(folder.string()));
}

struct Seen {
  v1::RegionKind kind;
  std::uint64_t bytes = 0;
  bool removed = false;
};

// Everything the agent has said so far.
class Listener {
 public:
  explicit Listener(agent::testing::FakeDaemon& daemon) {
    for (auto got = daemon.next(2000); got.message.body_case() != v1::AgentMessage::BODY_NOT_SET;
         got = daemon.next(2000)) {
      if (got.message.has_region_kind()) kinds_[got.message.region_kind().id()] = got.message.region_kind();
      if (got.message.has_plan_load()) plan_ = got.message.plan_load();
      if (got.message.has_arena_add()) read_arena(got);
    }
  }
  const v1::Plan& plan() const { return plan_; }

  // Regions of a kind that is named so.
  std::vector<Seen> regions(const std::string& name) const {
    std::vector<Seen> found;
    for (const Seen& region : regions_) {
      auto kind = kinds_.find(region.kind.id());
      if (kind == kinds_.end() || kind->second.name() != name) continue;
      found.push_back(region);
      found.back().kind = kind->second;
    }
    return found;
  }

 private:
  void read_arena(const agent::testing::Received& got) {
    void* memory =
        ::mmap(nullptr, got.message.arena_add().bytes(), PROT_READ, MAP_SHARED, got.attached.get(), 0);
    ASSERT_NE(memory, MAP_FAILED);
    const auto* base = static_cast<const std::byte*>(memory);
    tailor_arena_header header;
    std::memcpy(&header, base, sizeof(header));
    for (std::uint32_t area = 0; area < header.area_count; ++area) {
      const std::byte* at = base + sizeof(header) + std::size_t{area} * header.area_size;
      std::uint64_t head;
      std::memcpy(&head, at + sizeof(tailor_slot), sizeof(head));
      ASSERT_LE(head, header.log_capacity) << "the log is large enough for the test";
      for (std::uint64_t i = 0; i < head; ++i) {
        tailor_log_record record;
        std::memcpy(&record, at + TAILOR_AREA_LOG_OFFSET + i * sizeof(record), sizeof(record));
        take(record);
      }
    }
    ::munmap(memory, got.message.arena_add().bytes());
  }

  // Memory is used again after it was removed: the last region at an address is meant.
  void take(const tailor_log_record& record) {
    if (record.kind == TAILOR_LOG_REGION_ADD) {
      Seen seen;
      seen.kind.set_id(record.id);
      seen.bytes = record.b;
      at_[record.a] = regions_.size();
      regions_.push_back(seen);
    } else if (record.kind == TAILOR_LOG_REGION_REMOVE) {
      auto found = at_.find(record.a);
      if (found != at_.end()) regions_[found->second].removed = true;
    }
  }

  std::map<std::uint32_t, v1::RegionKind> kinds_;
  v1::Plan plan_;
  std::vector<Seen> regions_;
  std::map<std::uint64_t, std::size_t> at_;
};

TEST(WeftRegions, AllMemoryOfAQueryIsNamed) {
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("weft_regions." + std::to_string(::getpid()));
  std::unique_ptr<Database> database = make_table(folder);
  agent::testing::FakeDaemon daemon;
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "weft";
  options.tag_strategy = TAILOR_TAGS_R15;
  options.socket_path = daemon.path().c_str();
  options.log_records = 65536;
  ASSERT_EQ(tailor_agent_start(&options), 0);
  daemon.accept();
  register_columns(*database);
  auto jit = jit::Jit::create();
  ASSERT_TRUE(jit.ok());
  for (const RuntimeSymbol& symbol : runtime_symbols())
    ASSERT_TRUE((*jit)->define(symbol.name, symbol.address).ok());
  auto query = CompiledQuery::make(
      "select a.k, b.s, n from t a, t b, (select v, count(*) as n from t group by v) as g"
      " where a.k = b.k and b.v = g.v order by n, a.k",
      *database, **jit, {});
  ASSERT_TRUE(query.ok()) << query.error().message;
  WorkerPool pool(1);  // one thread, one log in order
  auto outcome = execute(**query, pool, {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_EQ(outcome->result.rows, kRows * 9 / 10);
  Listener heard(daemon);

  const struct {
    const char* name;
    std::uint32_t role, element_bytes;
    std::uint64_t bytes;
  } columns[] = {{"t.k", TAILOR_REGION_COLUMN, 0, 0},
                 {"t.v", TAILOR_REGION_COLUMN, 0, 0},
                 {"t.v (nulls)", TAILOR_REGION_COLUMN, 1, kRows},
                 {"t.s (texts)", TAILOR_REGION_COLUMN, 0, 0}};
  for (const auto& column : columns) {
    std::vector<Seen> regions = heard.regions(column.name);
    ASSERT_EQ(regions.size(), 1u) << column.name;
    EXPECT_EQ(regions[0].kind.role(), column.role);
    EXPECT_EQ(regions[0].kind.plan_id(), 0u) << "a column outlives plans";
    EXPECT_FALSE(regions[0].removed);
    EXPECT_GT(regions[0].bytes, 0u);
    if (column.bytes > 0) {
      EXPECT_EQ(regions[0].bytes, column.bytes);
    }
    if (column.element_bytes > 0) {
      EXPECT_EQ(regions[0].kind.element_bytes(), column.element_bytes);
    }
  }
  std::vector<Seen> keys = heard.regions("t.k");
  EXPECT_EQ(keys[0].bytes % keys[0].kind.element_bytes(), 0u);
  EXPECT_EQ(keys[0].bytes / keys[0].kind.element_bytes(), kRows) << "elements can be counted";

  const struct {
    const char* name;
    std::uint32_t role;
    const char* owner;  // kind of the operator
  } memory[] = {{"join build", TAILOR_REGION_HASH_TABLE, "hash_join"},
                {"join directory", TAILOR_REGION_DIRECTORY, "hash_join"},
                {"groups", TAILOR_REGION_HASH_TABLE, "group_by"},
                {"group directory", TAILOR_REGION_DIRECTORY, "group_by"},
                {"sort run", TAILOR_REGION_SORT_RUN, "sort"},
                {"sort order", TAILOR_REGION_SORT_RUN, "sort"},
                {"result", TAILOR_REGION_OUTPUT, "output"}};
  for (const auto& expected : memory) {
    std::vector<Seen> regions = heard.regions(expected.name);
    ASSERT_FALSE(regions.empty()) << expected.name;
    for (const Seen& region : regions) {
      EXPECT_EQ(region.kind.role(), expected.role) << expected.name;
      EXPECT_EQ(region.kind.plan_id(), heard.plan().id()) << expected.name;
      EXPECT_EQ(region.kind.level(), 0u);
      const v1::Level& operators = heard.plan().levels(0);
      auto owner = std::ranges::find(operators.components(), region.kind.component(), &v1::Component::id);
      ASSERT_NE(owner, operators.components().end()) << expected.name;
      EXPECT_EQ(owner->kind(), expected.owner);
      EXPECT_GT(region.kind.element_bytes(), 0u) << expected.name;
      EXPECT_GE(region.bytes, region.kind.element_bytes());
      EXPECT_TRUE(region.removed) << expected.name << " lives as long as the execution";
    }
  }
  // Every row of the larger build side lies in a region, after its chunk's header.
  std::uint64_t room = 0;
  for (const Seen& region : heard.regions("join build")) room += region.bytes / region.kind.element_bytes();
  EXPECT_GE(room, kRows);
  query->reset();
  tailor_agent_stop(1000);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tailor::weft
