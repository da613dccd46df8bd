// The names that the classes of this folder had in the first development version of 0.1. They go with 0.2:
// use the new ones, which are the same in lower case with underscores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/tagging/link_pool.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

// NOLINTBEGIN(readability-identifier-naming): this is what they were called.
namespace tailor::tagging {

template <typename Tracker>
class DeprecatedTrackerNames {
 public:
  [[deprecated("enter")]] auto Enter(ComponentId upper) { return self().enter(upper); }
  [[deprecated("enter")]] auto Enter(std::span<const ComponentId> uppers) { return self().enter(uppers); }

 private:
  friend Tracker;
  DeprecatedTrackerNames() = default;
  Tracker& self() { return static_cast<Tracker&>(*this); }
};

template <typename Builder, typename Spec, typename Key>
class DeprecatedDictionaryNames {
 public:
  [[deprecated("add")]] ComponentId Add(LevelIndex level, Spec spec,
                                        std::span<const ComponentId> uppers = {}) {
    return self().add(level, std::move(spec), uppers);
  }
  [[deprecated("add_unnamed")]] ComponentId AddUnnamed(LevelIndex level, std::uint32_t count) {
    return self().add_unnamed(level, count);
  }
  [[deprecated("add_linked")]] ComponentId AddLinked(LevelIndex level, std::span<const Link> links,
                                                     const LinkPool& pool) {
    return self().add_linked(level, links, pool);
  }
  [[deprecated("set_owners")]] void SetOwners(LevelIndex level, ComponentId lower,
                                              std::span<const ComponentId> uppers) {
    self().set_owners(level, lower, uppers);
  }
  [[deprecated("owners")]] std::vector<ComponentId> Owners(LevelIndex level, ComponentId lower) const {
    return self().owners(level, lower);
  }
  [[deprecated("owners_at")]] std::vector<ComponentId> OwnersAt(LevelIndex level, ComponentId lower,
                                                                LevelIndex upper_level) const {
    return self().owners_at(level, lower, upper_level);
  }
  [[deprecated("describe")]] Spec& Describe(LevelIndex level, ComponentId id) {
    return self().describe(level, id);
  }
  [[deprecated("add_pipeline")]] std::uint32_t AddPipeline(std::string name, LevelIndex task_level,
                                                           std::vector<ComponentId> tasks,
                                                           std::vector<std::uint32_t> depends_on = {}) {
    return self().add_pipeline(std::move(name), task_level, std::move(tasks), std::move(depends_on));
  }
  [[deprecated("append_task")]] void AppendTask(std::uint32_t pipeline, ComponentId task) {
    self().append_task(pipeline, task);
  }
  [[deprecated("attach")]] void Attach(std::string kind, std::string content) {
    self().attach(std::move(kind), std::move(content));
  }
  [[deprecated("append_attachment")]] void AppendAttachment(const std::string& kind,
                                                            std::string_view content) {
    self().append_attachment(kind, content);
  }
  [[deprecated("set_tag_levels")]] void SetTagLevels(LevelIndex upper, LevelIndex lower) {
    self().set_tag_levels(upper, lower);
  }
  [[deprecated("build")]] v1::Plan Build(const Key& key) const { return self().build(key); }
  [[deprecated("serialise")]] std::string Serialise(const Key& key) const { return self().serialise(key); }

 private:
  friend Builder;
  DeprecatedDictionaryNames() = default;
  Builder& self() { return static_cast<Builder&>(*this); }
  const Builder& self() const { return static_cast<const Builder&>(*this); }
};

template <typename Step, typename Spec>
class DeprecatedStepNames {
 public:
  [[deprecated("emit")]] ComponentId Emit(Spec spec) {
    return static_cast<Step&>(*this).emit(std::move(spec));
  }

 private:
  friend Step;
  DeprecatedStepNames() = default;
};

template <typename Log>
class DeprecatedLogNames {
 public:
  [[deprecated("record")]] void Record(ComponentId lower, std::span<const ComponentId> uppers) {
    self().record(lower, uppers);
  }
  [[deprecated("record_run")]] void RecordRun(ComponentId first, std::span<const Link> links,
                                              const LinkPool& pool) {
    self().record_run(first, links, pool);
  }
  [[deprecated("extend")]] void Extend(ComponentId lower, std::span<const ComponentId> uppers) {
    self().extend(lower, uppers);
  }
  [[deprecated("link_of")]] Link LinkOf(ComponentId lower) const { return self().link_of(lower); }
  [[deprecated("owners")]] std::vector<ComponentId> Owners(ComponentId lower) const {
    return self().owners(lower);
  }

 private:
  friend Log;
  DeprecatedLogNames() = default;
  Log& self() { return static_cast<Log&>(*this); }
  const Log& self() const { return static_cast<const Log&>(*this); }
};

template <typename Builder, typename Flag>
class DeprecatedRowNames {
 public:
  [[deprecated("add")]] void Add(std::uint32_t offset, std::span<const ComponentId> ids, Flag flag) {
    static_cast<Builder&>(*this).add(offset, ids, flag);
  }
  [[deprecated("add")]] void Add(std::uint32_t offset, Link link, const LinkPool& pool, Flag flag) {
    static_cast<Builder&>(*this).add(offset, link, pool, flag);
  }
  [[deprecated("build")]] v1::RowTable Build() const { return static_cast<const Builder&>(*this).build(); }

 private:
  friend Builder;
  DeprecatedRowNames() = default;
};

// A vector or span of Row.
template <typename Rows>
[[deprecated("coverage_of")]] auto CoverageOf(const Rows& rows, std::uint32_t code_bytes) {
  return coverage_of(rows, code_bytes);
}

struct Row;
Result<std::vector<Row>> decode_rows(const v1::RowTable& table);
template <typename Table>
[[deprecated("decode_rows")]] auto DecodeRows(const Table& table) {
  return decode_rows(table);
}

}  // namespace tailor::tagging
// NOLINTEND(readability-identifier-naming)
