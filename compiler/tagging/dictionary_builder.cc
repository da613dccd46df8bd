#include "compiler/tagging/dictionary_builder.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "proto/base/sha256.h"

namespace tailor::tagging {
namespace {

tailor::v1::Attachment without_content(const std::string& kind, const std::string& content) {
  tailor::v1::Attachment attachment;
  attachment.set_kind(kind);
  const auto digest = sha256(content);
  attachment.set_sha256(digest.data(), digest.size());
  return attachment;
}

// What stands before a field of `bytes` bytes on the wire (protobuf's encoding: tag and length).
void put_length(int field, std::size_t bytes, std::string& out) {
  constexpr unsigned kLengthDelimited = 2;
  auto put = [&](std::size_t number) {
    for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
    out += static_cast<char>(number);
  };
  put(static_cast<unsigned>(field) << 3 | kLengthDelimited);
  put(bytes);
}

}  // namespace

DictionaryBuilder::DictionaryBuilder(std::string plan_name, std::vector<std::string> level_names)
    : name_(std::move(plan_name)) {
  if (level_names.empty()) std::abort();
  levels_.resize(level_names.size());
  for (std::size_t i = 0; i < level_names.size(); ++i) levels_[i].name = std::move(level_names[i]);
  tag_lower_ = level_names.size() > 1 ? static_cast<LevelIndex>(level_names.size() - 2) : 0;
  tag_upper_ = tag_lower_ > 0 ? tag_lower_ - 1 : 0;
}

LevelIndex DictionaryBuilder::level(std::string_view name) const {
  auto it = std::find_if(levels_.begin(), levels_.end(), [&](const Level& l) { return l.name == name; });
  if (it == levels_.end()) std::abort();
  return static_cast<LevelIndex>(it - levels_.begin());
}

ComponentId DictionaryBuilder::add(LevelIndex level, ComponentSpec spec,
                                   std::span<const ComponentId> uppers) {
  ComponentId id = add_unnamed(level, 1);
  levels_[level].described.emplace(id, std::move(spec));
  if (!uppers.empty()) set_owners(level, id, uppers);
  return id;
}

ComponentId DictionaryBuilder::add_unnamed(LevelIndex level, std::uint32_t count) {
  Level& l = levels_.at(level);
  ComponentId first = l.count + 1;
  l.count += count;
  return first;
}

ComponentId DictionaryBuilder::add_linked(LevelIndex level, std::span<const Link> links,
                                          const LinkPool& pool) {
  ComponentId first = add_unnamed(level, static_cast<std::uint32_t>(links.size()));
  levels_[level].log.record_run(first, links, pool);
  return first;
}

void DictionaryBuilder::set_owners(LevelIndex level, ComponentId lower, std::span<const ComponentId> uppers) {
  Level& l = levels_.at(level);
  if (level == 0 || lower == kNoComponent || lower > l.count) std::abort();
  for (ComponentId upper : uppers) {
    if (upper > levels_[level - 1].count) std::abort();
  }
  l.log.record(lower, uppers);
}

std::vector<ComponentId> DictionaryBuilder::owners(LevelIndex level, ComponentId lower) const {
  return levels_.at(level).log.owners(lower);
}

std::vector<ComponentId> DictionaryBuilder::owners_at(LevelIndex level, ComponentId lower,
                                                      LevelIndex upper_level) const {
  std::vector<ComponentId> ids{lower};
  for (; level > upper_level; --level) {
    std::vector<ComponentId> above;
    for (ComponentId id : ids) {
      auto owner_ids = owners(level, id);
      above.insert(above.end(), owner_ids.begin(), owner_ids.end());
    }
    std::sort(above.begin(), above.end());
    above.erase(std::unique(above.begin(), above.end()), above.end());
    ids = std::move(above);
  }
  return ids;
}

ComponentSpec& DictionaryBuilder::describe(LevelIndex level, ComponentId id) {
  Level& l = levels_.at(level);
  if (id == kNoComponent || id > l.count) std::abort();
  return l.described[id];
}

std::uint32_t DictionaryBuilder::add_pipeline(std::string name, LevelIndex task_level,
                                              std::vector<ComponentId> tasks,
                                              std::vector<std::uint32_t> depends_on) {
  pipelines_.push_back({std::move(name), task_level, std::move(tasks), std::move(depends_on)});
  return static_cast<std::uint32_t>(pipelines_.size());
}

void DictionaryBuilder::append_task(std::uint32_t pipeline, ComponentId task) {
  pipelines_.at(pipeline - 1).tasks.push_back(task);
}

void DictionaryBuilder::attach(std::string kind, std::string content) {
  attachments_[std::move(kind)] = std::move(content);
}

void DictionaryBuilder::append_attachment(const std::string& kind, std::string_view content) {
  attachments_[kind] += content;
}

void DictionaryBuilder::set_tag_levels(LevelIndex upper, LevelIndex lower) {
  if (upper >= levels_.size() || lower >= levels_.size() || upper > lower) std::abort();
  tag_upper_ = upper;
  tag_lower_ = lower;
}

tailor::v1::Plan DictionaryBuilder::build(const PlanKey& key) const {
  tailor::v1::Plan plan = build_without_attachments(key);
  for (const auto& [kind, content] : attachments_) {
    *plan.add_attachments() = without_content(kind, content);
    plan.mutable_attachments()->rbegin()->set_content(content);
  }
  return plan;
}

// The fields of a message may stand in any order.
std::string DictionaryBuilder::serialise(const PlanKey& key) const {
  constexpr std::size_t kHeaders = 128;  // at least what stands around a content
  const tailor::v1::Plan plan = build_without_attachments(key);
  std::size_t bytes = plan.ByteSizeLong();
  for (const auto& [kind, content] : attachments_) bytes += kHeaders + kind.size() + content.size();
  std::string out;
  out.reserve(bytes);
  plan.AppendToString(&out);
  for (const auto& [kind, content] : attachments_) {
    const tailor::v1::Attachment attachment = without_content(kind, content);
    std::string header;
    put_length(tailor::v1::Attachment::kContentFieldNumber, content.size(), header);
    const std::size_t rest = attachment.ByteSizeLong() + header.size() + content.size();
    put_length(tailor::v1::Plan::kAttachmentsFieldNumber, rest, out);
    attachment.AppendToString(&out);
    out += header;
    out += content;
  }
  return out;
}

tailor::v1::Plan DictionaryBuilder::build_without_attachments(const PlanKey& key) const {
  tailor::v1::Plan plan;
  plan.set_id(key.id);
  plan.set_slot(key.slot);
  plan.set_generation(key.generation);
  plan.set_name(name_);
  for (const Level& level : levels_) build_level(level, *plan.add_levels());
  build_pipelines(plan);
  plan.set_tag_upper_level(tag_upper_);
  plan.set_tag_lower_level(tag_lower_);
  plan.set_has_tag_lower_level(tag_lower_ != tag_upper_);
  return plan;
}

void DictionaryBuilder::build_level(const Level& level, tailor::v1::Level& out) const {
  out.set_name(level.name);
  out.set_component_count(level.count);
  for (const auto& [id, spec] : level.described) {
    auto* component = out.add_components();
    component->set_id(id);
    component->set_name(spec.name);
    component->set_kind(spec.kind);
    component->mutable_inputs()->Add(spec.inputs.begin(), spec.inputs.end());
    for (const Attribute& attribute : spec.attributes) {
      auto* a = component->add_attributes();
      a->set_key(attribute.key);
      if (const auto* text = std::get_if<std::string>(&attribute.value)) {
        a->set_text(*text);
      } else {
        a->set_number(std::get<double>(attribute.value));
      }
    }
    component->mutable_accesses()->Add(spec.accesses.begin(), spec.accesses.end());
    if (spec.computation) *component->mutable_computation() = *spec.computation;
  }
  if (&level == levels_.data()) return;
  // Those behind the last that was recorded have no owner.
  out.mutable_links()->Resize(static_cast<int>(level.count), Link().wire());
  std::ranges::transform(level.log.links(), out.mutable_links()->begin(), &Link::wire);
  for (const auto& set : level.log.pool().sets()) {
    out.add_link_sets()->mutable_ids()->Add(set.begin(), set.end());
  }
}

void DictionaryBuilder::build_pipelines(tailor::v1::Plan& out) const {
  for (std::size_t i = 0; i < pipelines_.size(); ++i) {
    auto* pipeline = out.add_pipelines();
    pipeline->set_id(static_cast<std::uint32_t>(i + 1));
    pipeline->set_name(pipelines_[i].name);
    pipeline->mutable_tasks()->Add(pipelines_[i].tasks.begin(), pipelines_[i].tasks.end());
    pipeline->mutable_depends_on()->Add(pipelines_[i].depends_on.begin(), pipelines_[i].depends_on.end());
    pipeline->set_task_level(pipelines_[i].task_level);
  }
}

Result<std::string> with_key(const std::string& plan, const PlanKey& key) {
  tailor::v1::Plan parsed;
  if (!parsed.ParseFromString(plan) || parsed.levels().empty()) {
    return invalid("these bytes are no plan: compile the query again");
  }
  parsed.set_id(key.id);
  parsed.set_slot(key.slot);
  parsed.set_generation(key.generation);
  return parsed.SerializeAsString();
}

}  // namespace tailor::tagging
