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

  bool HasLevel(std::int32_t level) const {
    return level >= 0 && static_cast<std::size_t>(level) < levels.size();
  }
  bool Has(std::int32_t level, std::uint32_t component) const {
    return HasLevel(level) && component != 0 && component <= levels[static_cast<std::size_t>(level)].count;
  }
  Level& At(std::int32_t level) { return levels[static_cast<std::size_t>(level)]; }
};

namespace {

void WriteComponent(GrowingWire& wire, std::uint32_t id, const Described& component) {
  std::size_t begin = wire.Begin(3);
  wire.Number(1, id);
  wire.Text(2, component.name);
  wire.Text(3, component.kind);
  wire.Packed(4, component.inputs.size(), [&](std::size_t i) { return component.inputs[i]; });
  for (const Attribute& attribute : component.attributes) {
    std::size_t inner = wire.Begin(5);
    wire.Text(1, attribute.key);
    if (attribute.is_text) {
      wire.TextEvenIfEmpty(2, attribute.text);
    } else {
      wire.Double(3, attribute.number);
    }
    wire.End(inner);
  }
  wire.End(begin);
}

void WriteLevel(GrowingWire& wire, const Level& level, bool top) {
  std::size_t begin = wire.Begin(5);
  wire.Text(1, level.name);
  wire.Number(2, level.count);
  for (const auto& [id, component] : level.described) WriteComponent(wire, id, component);
  if (!top) {
    wire.Packed(4, level.count, [&](std::size_t i) { return i < level.links.size() ? level.links[i] : 0; });
    level.sets.Write(wire, 5);
  }
  wire.End(begin);
}

void WritePipeline(GrowingWire& wire, std::uint32_t id, const Pipeline& pipeline) {
  std::size_t begin = wire.Begin(6);
  wire.Number(1, id);
  wire.Text(2, pipeline.name);
  wire.Packed(3, pipeline.tasks.size(), [&](std::size_t i) { return pipeline.tasks[i]; });
  wire.Packed(4, pipeline.depends_on.size(), [&](std::size_t i) { return pipeline.depends_on[i]; });
  wire.Number(5, pipeline.level);
  wire.End(begin);
}

std::string Write(const tailor_plan_builder& plan) {
  GrowingWire wire{GrowingMemory()};
  wire.Text(4, plan.name);
  for (std::size_t i = 0; i < plan.levels.size(); ++i) WriteLevel(wire, plan.levels[i], i == 0);
  for (std::size_t i = 0; i < plan.pipelines.size(); ++i) {
    WritePipeline(wire, static_cast<std::uint32_t>(i + 1), plan.pipelines[i]);
  }
  for (const AttachedDocument& document : plan.documents) WriteAttachment(wire, 7, document);
  const int levels = static_cast<int>(plan.levels.size());
  const int lower = plan.tag_lower >= 0 ? plan.tag_lower : levels > 1 ? levels - 2 : 0;
  const int upper = plan.tag_upper >= 0 ? plan.tag_upper : lower > 0 ? lower - 1 : 0;
  wire.Number(8, static_cast<std::uint64_t>(upper));
  wire.Number(9, static_cast<std::uint64_t>(lower));
  wire.Number(10, lower != upper);
  return wire.memory().Take();
}

// The plan's bytes, or the builder's error.
int Build(tailor_plan_builder* builder, std::string& bytes) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (plan.levels.empty()) return -EINVAL;
    bytes = Write(plan);
    return bytes.size() > kMostMessageBytes ? -E2BIG : 0;
  });
}

// Adds what make() returns to the attributes of a component.
template <typename Make>
int AddAttribute(tailor_plan_builder* builder, std::int32_t level, std::uint32_t component, Make make) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.Has(level, component)) return -EINVAL;
    plan.At(level).described[component].attributes.push_back(make());
    return 0;
  });
}

}  // namespace

tailor_plan_builder* tailor_plan_builder_new(const char* name) {
  auto* builder = new (std::nothrow) tailor_plan_builder;
  Guarded(builder, [&](tailor_plan_builder& plan) {
    plan.name = CutText(name, kMostTextBytes);
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
  int error = Guarded(builder, [&](tailor_plan_builder& plan) {
    if (plan.levels.size() == kMostLevels) return -E2BIG;
    plan.levels.emplace_back().name = CutText(name, kMostNameBytes);
    return 0;
  });
  return error ? error : static_cast<int32_t>(builder->levels.size()) - 1;
}

uint32_t tailor_plan_builder_add_component(tailor_plan_builder* builder, int32_t level, const char* name,
                                           const char* kind) {
  int error = Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.HasLevel(level)) return -EINVAL;
    Level& to = plan.At(level);
    if (to.count == kMostComponents) return -E2BIG;
    Described component;
    component.name = CutText(name, kMostTextBytes);
    component.kind = CutText(kind, kMostNameBytes);
    to.described.emplace(to.count + 1, std::move(component));
    ++to.count;
    return 0;
  });
  return error ? 0 : builder->At(level).count;
}

uint32_t tailor_plan_builder_add_components(tailor_plan_builder* builder, int32_t level, uint32_t count) {
  int error = Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.HasLevel(level) || count == 0) return -EINVAL;
    Level& to = plan.At(level);
    if (count > kMostComponents - to.count) return -E2BIG;
    to.count += count;
    return 0;
  });
  return error ? 0 : builder->At(level).count - count + 1;
}

int tailor_plan_builder_set_owners(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                   const uint32_t* owners, size_t count) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (level < 1 || !plan.Has(level, component) || (count != 0 && !owners)) return -EINVAL;
    for (size_t i = 0; i < count; ++i) {
      if (!plan.Has(level - 1, owners[i])) return -EINVAL;
    }
    Level& to = plan.At(level);
    if (to.links.size() < component) to.links.resize(component);
    to.links[component - 1] = to.sets.LinkTo({owners, count});
    return 0;
  });
}

int tailor_plan_builder_add_input(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                  uint32_t input) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.Has(level, component) || !plan.Has(level, input)) return -EINVAL;
    plan.At(level).described[component].inputs.push_back(input);
    return 0;
  });
}

int tailor_plan_builder_set_text(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                 const char* key, const char* value) {
  return AddAttribute(builder, level, component, [&] {
    return Attribute{CutText(key, kMostNameBytes), CutText(value, kMostTextBytes), 0, true};
  });
}

int tailor_plan_builder_set_number(tailor_plan_builder* builder, int32_t level, uint32_t component,
                                   const char* key, double value) {
  return AddAttribute(builder, level, component,
                      [&] { return Attribute{CutText(key, kMostNameBytes), {}, value, false}; });
}

uint32_t tailor_plan_builder_add_pipeline(tailor_plan_builder* builder, const char* name,
                                          int32_t task_level) {
  int error = Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.HasLevel(task_level)) return -EINVAL;
    if (plan.pipelines.size() == kMostPipelines) return -E2BIG;
    plan.pipelines.push_back({CutText(name, kMostTextBytes), static_cast<std::uint32_t>(task_level), {}, {}});
    return 0;
  });
  return error ? 0 : static_cast<uint32_t>(builder->pipelines.size());
}

int tailor_plan_builder_add_task(tailor_plan_builder* builder, uint32_t pipeline, uint32_t task) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (pipeline == 0 || pipeline > plan.pipelines.size()) return -EINVAL;
    Pipeline& to = plan.pipelines[pipeline - 1];
    if (!plan.Has(static_cast<int32_t>(to.level), task)) return -EINVAL;
    to.tasks.push_back(task);
    return 0;
  });
}

int tailor_plan_builder_add_dependency(tailor_plan_builder* builder, uint32_t pipeline, uint32_t other) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (pipeline == 0 || pipeline > plan.pipelines.size() || other == 0 || other > plan.pipelines.size())
      return -EINVAL;
    plan.pipelines[pipeline - 1].depends_on.push_back(other);
    return 0;
  });
}

int tailor_plan_builder_set_tag_levels(tailor_plan_builder* builder, int32_t upper, int32_t lower) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!plan.HasLevel(upper) || !plan.HasLevel(lower) || upper > lower) return -EINVAL;
    plan.tag_upper = upper;
    plan.tag_lower = lower;
    return 0;
  });
}

int tailor_plan_builder_attach(tailor_plan_builder* builder, const char* kind, const void* content,
                               size_t size) {
  return Guarded(builder, [&](tailor_plan_builder& plan) {
    if (!kind || (size != 0 && !content)) return -EINVAL;
    if (size > kMostMessageBytes) return -E2BIG;
    Attach(plan.documents, kind, content, size);
    return 0;
  });
}

int tailor_plan_builder_load(tailor_plan_builder* builder, uint64_t plan_id) {
  std::string bytes;
  int error = Build(builder, bytes);
  return error ? error : tailor_plan_load(plan_id, bytes.data(), bytes.size());
}

size_t tailor_plan_builder_serialise(tailor_plan_builder* builder, void* out, size_t capacity) {
  std::string bytes;
  if (Build(builder, bytes) != 0) return 0;
  if (out && bytes.size() <= capacity) std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}
