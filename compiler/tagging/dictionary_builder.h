// Collects what a plan dictionary says and writes it as tailor.v1.Plan (proto/tailor/v1/dictionary.proto).
//
// Lifecycle: construct with the names of the levels, top first; add components while lowering (directly, or
// through a LoweringStep); at the end serialise() and hand the bytes to tailor_plan_load(). More components
// of the lowest level may be added between two serialise() calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/tagging/deprecated_names.h"
#include "compiler/tagging/lineage_log.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::tagging {

struct Attribute {
  std::string key;  // "estimated_rows", "table", "predicate" ...
  std::variant<std::string, double> value;
};

struct ComponentSpec {
  std::string name = {};                 // "Hash join"
  std::string kind = {};                 // "hash_join"
  std::vector<ComponentId> inputs = {};  // same level: what it consumes, in order
  std::vector<Attribute> attributes = {};
  std::vector<tailor::v1::Access> accesses = {};  // what it does with memory
  std::optional<tailor::v1::Computation> computation = {};
};

// As tailor_plan_new() gave it.
struct PlanKey {
  PlanId id = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

// Not thread-safe. Component ids are dense from 1 within a level, in the order of addition. A level index or
// component id that was never given is a programming error and aborts.
class DictionaryBuilder : public DeprecatedDictionaryNames<DictionaryBuilder, ComponentSpec, PlanKey> {
 public:
  DictionaryBuilder(std::string plan_name, std::vector<std::string> level_names);

  std::size_t level_count() const { return levels_.size(); }
  // The level of that name; aborts if there is none.
  LevelIndex level(std::string_view name) const;

  // Adds a described component that descends from `uppers` (empty on the top level, or if it has no owner).
  ComponentId add(LevelIndex level, ComponentSpec spec, std::span<const ComponentId> uppers = {});
  // Adds `count` components without description, ids first .. first + count - 1; returns first.
  ComponentId add_unnamed(LevelIndex level, std::uint32_t count);

  // Adds one component without description per link, owned by what the link leads to in `pool`; returns the
  // first id. For lowering steps that log thousands of components.
  ComponentId add_linked(LevelIndex level, std::span<const Link> links, const LinkPool& pool);

  // Owners of components that are there already.
  void set_owners(LevelIndex level, ComponentId lower, std::span<const ComponentId> uppers);
  std::vector<ComponentId> owners(LevelIndex level, ComponentId lower) const;
  // Owners several levels up, each once, ascending: the operators of an IR instruction, say.
  std::vector<ComponentId> owners_at(LevelIndex level, ComponentId lower, LevelIndex upper_level) const;

  // Changes the description, e.g. once estimates or inputs are known.
  ComponentSpec& describe(LevelIndex level, ComponentId id);
  std::uint32_t component_count(LevelIndex level) const { return levels_.at(level).count; }

  // A pipeline whose tuples pass `tasks` (of `task_level`) in this order, after the pipelines `depends_on`.
  // Returns its id, from 1.
  std::uint32_t add_pipeline(std::string name, LevelIndex task_level, std::vector<ComponentId> tasks,
                             std::vector<std::uint32_t> depends_on = {});
  // The tasks of a pipeline are often known only after it was begun.
  void append_task(std::uint32_t pipeline, ComponentId task);

  // Attaches `content` under `kind` ("sql", "ir" ...), replacing what was attached under it.
  void attach(std::string kind, std::string content);
  // Appends to it: the listing of the lowest level grows module by module.
  void append_attachment(const std::string& kind, std::string_view content);

  // Which levels the two fields of a tag name. Default: the level above the second-lowest, and the
  // second-lowest; with one or two levels, the top one alone.
  void set_tag_levels(LevelIndex upper, LevelIndex lower);
  LevelIndex tag_upper_level() const { return tag_upper_; }
  LevelIndex tag_lower_level() const { return tag_lower_; }

  tailor::v1::Plan build(const PlanKey& key) const;
  // What build() gives, as bytes, without a copy of the attachments in between.
  std::string serialise(const PlanKey& key) const;

 private:
  struct Level {
    std::string name;
    std::uint32_t count = 0;
    std::map<ComponentId, ComponentSpec> described;
    LineageLog log;  // to the level above
  };
  struct Pipeline {
    std::string name;
    LevelIndex task_level;
    std::vector<ComponentId> tasks;
    std::vector<std::uint32_t> depends_on;
  };

  tailor::v1::Plan build_without_attachments(const PlanKey& key) const;
  void build_level(const Level& level, tailor::v1::Level& out) const;
  void build_pipelines(tailor::v1::Plan& out) const;

  std::string name_;
  std::vector<Level> levels_;
  std::vector<Pipeline> pipelines_;
  std::map<std::string, std::string> attachments_;
  LevelIndex tag_upper_ = 0;
  LevelIndex tag_lower_ = 0;
};

// A serialised plan under another key: one that was kept with compiled code, for the process that uses it
// now. Errors: `plan` is no plan.
Result<std::string> with_key(const std::string& plan, const PlanKey& key);

}  // namespace tailor::tagging
