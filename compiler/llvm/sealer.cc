#include "compiler/llvm/sealer.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <span>

#include "compiler/llvm/line_code.h"
#include "compiler/llvm/listing.h"
#include "compiler/llvm/sealed_module_state.h"
#include "compiler/llvm/section_tags.h"
#include "proto/base/errors.h"

namespace tailor::jit {
namespace {

using tagging::Link;

// Gives every instruction of a block without owner that of the one after it, else of the one before. Returns
// to how many.
std::uint32_t adopt_orphans(std::span<ListedLine> block) {
  std::uint32_t adopted = 0;
  auto adopt = [&](ListedLine& line, Link& near) {
    if (!line.owner.none()) {
      near = line.owner;
    } else if (!near.none()) {
      line.owner = near;
      ++adopted;
    }
  };
  Link after, before;
  for (ListedLine& line : llvm::reverse(block)) adopt(line, after);
  for (ListedLine& line : block) adopt(line, before);
  return adopted;
}

// As above, in all blocks.
std::uint32_t adopt_all_orphans(std::span<ListedLine> lines) {
  std::uint32_t adopted = 0;
  std::size_t begin = 0;
  bool orphans = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool heading = lines[i].instruction == nullptr;
    orphans |= !heading && lines[i].owner.none();
    if (i + 1 < lines.size() && lines[i + 1].instruction != nullptr) {
      if (heading) begin = i + 1;
      continue;
    }
    if (orphans) adopted += adopt_orphans(lines.subspan(begin, i + 1 - begin));
    orphans = false;
  }
  return adopted;
}

// The lines of the listing with their owners.
std::vector<ListedLine> owned_lines(llvm::Module& module, const OwnerMap& owners) {
  std::vector<ListedLine> lines = lines_of(module, owners.size() + owners.size() / 4);
  for (ListedLine& line : lines) {
    if (line.instruction != nullptr) line.owner = owners.lookup(line.instruction);
  }
  return lines;
}

// Writes the number of every instruction into its debug location.
//
// One subprogram is the scope of all locations, and it is attached to no function: to most of LLVM a function
// without subprogram has no debug information to care for, which saves half of what locations cost. Locations
// are distinct: no two would be alike, and looking for one's like takes longer than making it.
void number_instructions(llvm::Module& module, std::span<const ListedLine> lines, ComponentId first) {
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile("ir", "");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "", false, "", 0, "", llvm::DICompileUnit::NoDebug);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  llvm::DISubprogram* scope = builder.createFunction(
      file, "ir", "ir", file, 1, type, 1, llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  builder.finalize();
  module.getOrInsertNamedMetadata(kScopeMetadata)->addOperand(scope);
  ComponentId id = first;
  for (const ListedLine& line : lines) {
    if (line.instruction != nullptr)
      line.instruction->setDebugLoc(
          llvm::DILocation::getDistinct(module.getContext(), line_of(Link::one(id)), 0, scope));
    ++id;
  }
}

// The tag of the first owner of a link, each task's made once.
class TagCache {
 public:
  explicit TagCache(const SealerInput& input) : input_(input) {}

  std::uint64_t of(Link link) {
    if (link == last_) return last_tag_;
    ComponentId task = link.is_set() ? input_.log.pool().sets()[link.index()].front() : link.index();
    auto [it, added] = tags_.try_emplace(task, 0);
    if (added) it->second = tag_of_task(input_.plan, input_.options, task);
    last_ = link;
    return last_tag_ = it->second;
  }

 private:
  const SealerInput& input_;
  llvm::DenseMap<ComponentId, std::uint64_t> tags_;
  Link last_;  // what of() took last: none at first, whose tag is 0
  std::uint64_t last_tag_ = 0;
};

void tag_sections(const SealerInput& input, llvm::Module& module, OwnerMap& owners, TagCache& tags) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    FunctionTags known = input.functions.lookup(&function);
    const bool in_memory = input.options.tags == TagStrategy::kMemorySlot;
    if (in_memory && known.slot == nullptr) continue;
    insert_section_tags(function,
                        {.strategy = input.options.tags,
                         .slot = known.slot,
                         .entry_tag = in_memory ? known.entry_tag : nullptr,
                         .tag_of = [&](Link link) { return tags.of(link); }},
                        owners);
  }
}

// The lines with their owners, after the tags at section entries were written.
std::vector<ListedLine> tagged_lines(const SealerInput& input, llvm::Module& module, TagCache& tags,
                                     SealedModule::State& state) {
  std::vector<ListedLine> lines = owned_lines(module, input.log.owners());
  state.adopted = adopt_all_orphans(lines);
  if (!tags_sections(input.options)) return lines;
  OwnerMap owners;
  for (const ListedLine& line : lines) owners[line.instruction] = line.owner;
  tag_sections(input, module, owners, tags);
  return owned_lines(module, owners);
}

void write_lineage(const SealerInput& input, llvm::Module& module, const std::vector<ListedLine>& lines,
                   TagCache& tags, SealedModule::State& state) {
  std::vector<Link> links;
  links.reserve(lines.size());
  for (const ListedLine& line : lines) links.push_back(line.owner);
  state.first =
      input.plan.add_linked(static_cast<LevelIndex>(input.plan.level_count() - 1), links, input.log.pool());
  state.count = static_cast<std::uint32_t>(links.size());
  input.plan.append_attachment("ir", listing_of(module, lines.size()).text());
  number_instructions(module, lines, state.first);
  if (input.options.tags == TagStrategy::kNone) return;
  state.component_tags.reserve(links.size());
  for (Link link : links) state.component_tags.push_back(tags.of(link));
}

}  // namespace

std::uint64_t tag_of_task(const tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                          ComponentId task) {
  if (task == kNoComponent || options.make_tag == nullptr) return 0;
  LevelIndex task_level = static_cast<LevelIndex>(plan.level_count() - 2);
  auto only = [&](LevelIndex level) {
    // A task stands for all of its instructions: on the level below it names none.
    if (level > task_level) return kNoComponent;
    auto owners = plan.owners_at(task_level, task, level);
    return owners.size() == 1 ? owners.front() : kNoComponent;
  };
  ComponentId upper = only(plan.tag_upper_level());
  return options.make_tag(
      upper, plan.tag_lower_level() == plan.tag_upper_level() ? kNoComponent : only(plan.tag_lower_level()));
}

bool tags_sections(const QueryModuleOptions& options) {
  return options.tags == TagStrategy::kMemorySlot ||
         (options.tags == TagStrategy::kR15 && options.tag_sections);
}

Status number_module(const SealerInput& input, llvm::Module& module, SealedModule::State& state) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    return internal("the module is not valid LLVM IR: " + stream.str());
  state.tags = input.options.tags;
  state.tag_sections = tags_sections(input.options);
  state.lineage = input.options.lineage;
  // Code is the same whether lineage is written or not.
  if (!input.options.lineage && !tags_sections(input.options)) return Ok{};
  TagCache tags(input);
  const std::vector<ListedLine> lines = tagged_lines(input, module, tags, state);
  if (input.options.lineage) write_lineage(input, module, lines, tags, state);
  return Ok{};
}

Result<SealedModule> seal_module(const SealerInput& input, std::unique_ptr<llvm::LLVMContext> context,
                                 std::unique_ptr<llvm::Module> module) {
  auto state = std::make_unique<SealedModule::State>();
  if (Status numbered = number_module(input, *module, *state); !numbered) return numbered.error();
  state->context = std::move(context);
  state->module = std::move(module);
  return SealedModule(std::move(state));
}

}  // namespace tailor::jit
