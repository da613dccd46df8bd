// Plan dictionaries for engines without protobuf (tailor/dictionary.h). Field numbers are those of
// proto/tailor/v1/dictionary.proto.
#include <tailor/agent.h>
#include <tailor/dictionary.h>

#include "agent/builder_parts.h"

using namespace tailor::agent;

namespace {

constexpr std::size_t kMostLevels = 16;
constexpr std::uint32_t kMostComponents = 1u << 24;
constexpr std::size_t kMostPipelines = 1u << 16;

struct Attribute {
  std::string key;
  std::string text;
  double number = 0;
  bool is_text = false;
};

// What was said about a component; most of a lowest level have nothing of it.
struct Described {
  std::string name, kind;
  std::vector<std::uint32_t> inputs;
  std::vector<Attribute> attributes;
};

struct Level {
  std::string name;
  std::uint32_t count = 0;
  std::map<std::uint32_t, Described> described;
  std::vector<std::uint32_t> links;  // of the first components; those behind have none
  LinkSets sets;
};

struct Pipeline {
  std::string name;
  std::uint32_t level = 0;
  std::vector<std::uint32_t> tasks, depends_on;
};

}  // namespace

struct tailor_plan_builder {
  int error = 0;
  std::string name;
  std::vector<Level> levels;
  std::vector<Pipeline> pipelines;
  std::vector<AttachedDocument> documents;
  int tag_upper = -1, tag_lower = -1;  // -1: as the number of levels says

  bool has_level(std::int32_t level) const {
    return level >= 0 && static_cast<std::size_t>(level) < levels.size();
  }
  bool has(std::int32_t level, std::uint32_t component) const {
    return has_level(level) && component != 0 && component <= levels[static_cast<std::size_t>(level)].count;
  }
  Level& at(std::int32_t level) { return levels[static_cast<std::size_t>(level)]; }
};

namespace {

void write_component(GrowingWire& wire, std::uint32_t id, const Described& component) {
  std::size_t begin = wire.begin(3);
  wire.number(1, id);
  wire.text(2, component.name);
  wire.text(3, component.kind);
  wire.packed(4, component.inputs.size(), [&](std::size_t i) { return component.inputs[i]; });
  for (const Attribute& attribute : component.attributes) {
    std::size_t inner = wire.begin(5);
    wire.text(1, attribute.key);
    if (attribute.is_text) {
      wire.text_even_if_empty(2, attribute.text);
    } else {
      wire.real_number(3, attribute.number);
    }
    wire.end(inner);
  }
  wire.end(begin);
}

void write_level(GrowingWire& wire, const Level& level, bool top) {
  std::size_t begin = wire.begin(5);
  wire.text(1, level.name);
  wire.number(2, level.count);
  for (const auto& [id, component] : level.described) write_component(wire, id, component);
  if (!top) {
    wire.packed(4, level.count, [&](std::size_t i) { return i < level.links.size() ? level.links[i] : 0; });
    level.sets.write(wire, 5);
  }
  wire.end(begin);
}

void write_pipeline(GrowingWire& wire, std::uint32_t id, const Pipeline& pipeline) {
  std::size_t begin = wire.begin(6);
  wire.number(1, id);
  wire.text(2, pipeline.name);
  wire.packed(3, pipeline.tasks.size(), [&](std::size_t i) { return pipeline.tasks[i]; });
  wire.packed(4, pipeline.depends_on.size(), [&](std::size_t i) { return pipeline.depends_on[i]; });
  wire.number(5, pipeline.level);
  wire.end(begin);
}

std::string write(const tailor_plan_builder& plan) {
  GrowingWire wire{GrowingMemory()};
  wire.text(4, plan.name);
  for (std::size_t i = 0; i < plan.levels.size(); ++i) write_level(wire, plan.levels[i], i == 0);
  for (std::size_t i = 0; i < plan.pipelines.size(); ++i) {
    write_pipeline(wire, static_cast<std::uint32_t>(i + 1), plan.pipelines[i]);
  }
  for (const AttachedDocument& document : plan.documents) write_attachment(wire, 7, document);
  const int levels = static_cast<int>(plan.levels.size());
  const int lower = plan.tag_lower >= 0 ? plan.tag_lower : levels > 1 ? levels - 2 : 0;
  const int upper = plan.tag_upper >= 0 ? plan.tag_upper : lower > 0 ? lower - 1 : 0;
  wire.number(8, static_cast<std::uint64_t>(upper));
  wire.number(9, static_cast<std::uint64_t>(lower));
  wire.number(10, lower != upper);
  return wire.memory().take();
}

// The plan's bytes, or the builder's error.
int build(tailor_plan_builder* builder, std::string& bytes) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (plan.levels.empty()) return -EINVAL;
    bytes = write(plan);
    return bytes.size() > kMostMessageBytes ? -E2BIG : 0;
  });
}

// Adds what make() returns to the attributes of a component.
template <typename Make>
int add_attribute(tailor_plan_builder* builder, std::int32_t level, std::uint32_t component, Make make) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.has(level, component)) return -EINVAL;
    plan.at(level).described[component].attributes.push_back(make());
    return 0;
  });
}

}  // namespace

tailor_plan_builder* tailor_plan_builder_new(const char* name) {
  auto* builder = new (std::nothrow) tailor_plan_builder;
  guarded(builder, [&](tailor_plan_builder& plan) {
    plan.name = cut_text(name, kMostTextBytes);
    return 0;
  });
  return builder;
}

void tailor_plan_builder_free(tailor_plan_builder* builder) {
  delete builder;
}

int tailor_plan_builder_error(const tailor_plan_builder* builder) {
  return builder ? builder->error : -EINVAL;
}

int32_t tailor_plan_builder_add_level(tailor_plan_builder* builder, const char* name) {
  int error = guarded(builder, [&](tailor_plan_builder& plan) {
    if (plan.levels.size() == kMostLevels) return -E2BIG;
    plan.levels.emplace_back().name = cut_text(name, kMostNameBytes);
    return 0;
  });
  return error ? error : static_cast<int32_t>(builder->levels.size()) - 1;
}

uint32_t tailor_plan_builder_add_component(tailor_plan_builder* builder, int32_t level, const char* name,
                                           const char* kind) {
  int error = guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.has_level(level)) return -EINVAL;
    Level& to = plan.at(level);
    if (to.count == kMostComponents) return -E2BIG;
    Described component;
    component.name = cut_text(name, kMostTextBytes);
    component.kind = cut_text(kind, kMostNameBytes);
    to.described.emplace(to.count + 1, std::move(component));
    ++to.count;
    return 0;
  });
  return error ? 0 : builder->at(level).count;
}

uint32_t tailor_plan_builder_add_components(tailor_plan_builder* builder, int32_t level, uint32_t count) {
  int error = guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.has_level(level) || count == 0) return -EINVAL;
    Level& to = plan.at(level);
    if (count > kMostComponents - to.count) return -E2BIG;
    to.count += count;
    return 0;
  });
  return error ? 0 : builder->at(level).count - count + 1;
}

int tailor_plan_builder_set_owners(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                   const uint32_t* owners, size_t count) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (level < 1 || !plan.has(level, component) || (count != 0 && !owners)) return -EINVAL;
    for (size_t i = 0; i < count; ++i) {
      if (!plan.has(level - 1, owners[i])) return -EINVAL;
    }
    Level& to = plan.at(level);
    if (to.links.size() < component) to.links.resize(component);
    to.links[component - 1] = to.sets.link_to({owners, count});
    return 0;
  });
}

int tailor_plan_builder_add_input(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                  uint32_t input) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.has(level, component) || !plan.has(level, input)) return -EINVAL;
    plan.at(level).described[component].inputs.push_back(input);
    return 0;
  });
}

int tailor_plan_builder_set_text(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                 const char* key, const char* value) {
  return add_attribute(builder, level, component, [&] {
    return Attribute{cut_text(key, kMostNameBytes), cut_text(value, kMostTextBytes), 0, true};
  });
}

int tailor_plan_builder_set_number(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                   const char* key, double value) {
  return add_attribute(builder, level, component,
                       [&] { return Attribute{cut_text(key, kMostNameBytes), {}, value, false}; });
}

uint32_t tailor_plan_builder_add_pipeline(tailor_plan_builder* builder, const char* name,
                                          int32_t task_level) {
  int error = guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.has_level(task_level)) return -EINVAL;
    if (plan.pipelines.size() == kMostPipelines) return -E2BIG;
    plan.pipelines.push_back(
        {cut_text(name, kMostTextBytes), static_cast<std::uint32_t>(task_level), {}, {}});
    return 0;
  });
  return error ? 0 : static_cast<uint32_t>(builder->pipelines.size());
}

int tailor_plan_builder_add_task(tailor_plan_builder* builder, uint32_t pipeline, uint32_t task) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (pipeline == 0 || pipeline > plan.pipelines.size()) return -EINVAL;
    Pipeline& to = plan.pipelines[pipeline - 1];
    if (!plan.has(static_cast<int32_t>(to.level), task)) return -EINVAL;
    to.tasks.push_back(task);
    return 0;
  });
}

int tailor_plan_builder_add_dependency(tailor_plan_builder* builder, uint32_t pipeline, uint32_t other) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (pipeline == 0 || pipeline > plan.pipelines.size() || other == 0 || other > plan.pipelines.size())
      return -EINVAL;
    plan.pipelines[pipeline - 1].depends_on.push_back(other);
    return 0;
  });
}

int tailor_plan_builder_set_tag_levels(tailor_plan_builder* builder, int32_t upper, int32_t lower) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.has_level(upper) || !plan.has_level(lower) || upper > lower) return -EINVAL;
    plan.tag_upper = upper;
    plan.tag_lower = lower;
    return 0;
  });
}

int tailor_plan_builder_attach(tailor_plan_builder* builder, const char* kind, const void* content,
                               size_t size) {
  return guarded(builder, [&](tailor_plan_builder& plan) {
    if (!kind || (size != 0 && !content)) return -EINVAL;
    if (size > kMostMessageBytes) return -E2BIG;
    attach(plan.documents, kind, content, size);
    return 0;
  });
}

int tailor_plan_builder_load(tailor_plan_builder* builder, uint64_t plan_id) {
  std::string bytes;
  int error = build(builder, bytes);
  return error ? error : tailor_plan_load(plan_id, bytes.data(), bytes.size());
}

size_t tailor_plan_builder_serialise(tailor_plan_builder* builder, void* out, size_t capacity) {
  std::string bytes;
  if (build(builder, bytes) != 0) return 0;
  if (out && bytes.size() <= capacity) std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}
