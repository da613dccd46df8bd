#include "compiler/llvm/sealer.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/llvm/line_code.h"
#include "compiler/llvm/listing.h"
#include "compiler/llvm/sealed_module_state.h"

namespace tailor::jit {
namespace {

using tagging::Link;
using OwnerMap = llvm::DenseMap<const llvm::Instruction*, Link>;

// Gives every instruction without owner that of the one after it in its block, else of the one before.
std::uint32_t AdoptOrphans(llvm::Module& module, OwnerMap& owners) {
  std::uint32_t adopted = 0;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      auto pass = [&](auto range) {
        Link near;
        for (llvm::Instruction& instruction : range) {
          Link& link = owners[&instruction];
          if (!link.none()) {
            near = link;
          } else if (!near.none()) {
            link = near;
            ++adopted;
          }
        }
      };
      pass(llvm::reverse(block));
      pass(llvm::make_range(block.begin(), block.end()));
    }
  }
  return adopted;
}

// The owners of each line of the listing, in order.
std::vector<Link> LinksOfLines(llvm::Module& module, const OwnerMap& owners) {
  std::vector<Link> links;
  ForEachLine(
      module, [&](llvm::Function&) { links.emplace_back(); },
      [&](llvm::Instruction& instruction) { links.push_back(owners.lookup(&instruction)); });
  return links;
}

// Writes the number of every instruction into its debug location.
void NumberInstructions(llvm::Module& module, ComponentId first) {
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile("ir", "");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "", false, "", 0, "", llvm::DICompileUnit::NoDebug);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  ComponentId line = first;
  llvm::Function* current = nullptr;
  llvm::DISubprogram* scope = nullptr;
  ForEachLine(
      module,
      [&](llvm::Function& function) {
        if (&function != current) {
          current = &function;
          scope = builder.createFunction(file, function.getName(), function.getName(), file, line, type, line,
                                         llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
          function.setSubprogram(scope);
        }
        ++line;
      },
      [&](llvm::Instruction& instruction) {
        instruction.setDebugLoc(LocationOf({Link::One(line++), false}, scope, nullptr));
      });
  builder.finalize();
  // Without the version the locations would be dropped when the module is cloned through bitcode.
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
}

// The tag of the first owner of each line.
std::vector<std::uint64_t> TagsOfLines(const tagging::DictionaryBuilder& plan,
                                       const QueryModuleOptions& options, const std::vector<Link>& links,
                                       const tagging::LinkPool& pool) {
  llvm::DenseMap<ComponentId, std::uint64_t> tags;
  std::vector<std::uint64_t> out(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].none()) continue;
    ComponentId task = links[i].is_set() ? pool.sets()[links[i].index()].front() : links[i].index();
    auto [it, added] = tags.try_emplace(task, 0);
    if (added) it->second = TagOfTask(plan, options, task);
    out[i] = it->second;
  }
  return out;
}

}  // namespace

std::uint64_t TagOfTask(const tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                        ComponentId task) {
  if (task == kNoComponent || options.make_tag == nullptr) return 0;
  LevelIndex task_level = static_cast<LevelIndex>(plan.level_count() - 2);
  auto only = [&](LevelIndex level) {
    auto owners = plan.OwnersAt(task_level, task, level);
    return owners.size() == 1 ? owners.front() : kNoComponent;
  };
  ComponentId upper = only(plan.tag_upper_level());
  return options.make_tag(
      upper, plan.tag_lower_level() == plan.tag_upper_level() ? kNoComponent : only(plan.tag_lower_level()));
}

Result<SealedModule> SealModule(tagging::DictionaryBuilder& plan, const QueryModuleOptions& options,
                                const InstructionLog& log, std::unique_ptr<llvm::LLVMContext> context,
                                std::unique_ptr<llvm::Module> module) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return Error{"the module is not valid LLVM IR: " + stream.str()};

  auto state = std::make_unique<SealedModule::State>();
  state->tags = options.tags;
  state->lineage = options.lineage;
  if (options.lineage) {
    OwnerMap owners = log.Live();
    state->adopted = AdoptOrphans(*module, owners);
    std::vector<Link> links = LinksOfLines(*module, owners);
    const LevelIndex ir_level = static_cast<LevelIndex>(plan.level_count() - 1);
    state->first = plan.AddLinked(ir_level, links, log.pool());
    state->count = static_cast<std::uint32_t>(links.size());
    plan.AppendAttachment("ir", ListingOf(*module));
    NumberInstructions(*module, state->first);
    if (options.tags != TagStrategy::kNone) {
      state->component_tags = TagsOfLines(plan, options, links, log.pool());
    }
  }
  state->context = std::move(context);
  state->module = std::move(module);
  return SealedModule(std::move(state));
}

}  // namespace tailor::jit
