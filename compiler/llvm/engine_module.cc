#include "compiler/llvm/engine_module.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>

#include <atomic>
#include <optional>

#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/object_compiler.h"
#include "compiler/llvm/sealer.h"
#include "compiler/llvm/value_tracker.h"
#include "compiler/tagging/row_table_builder.h"
#include "proto/base/sha256.h"

namespace tailor::jit {
namespace {

// What stands before the rows: the digest of their object.
std::string digest_of(llvm::StringRef object) {
  const auto digest = sha256(std::string_view(object.data(), object.size()));
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Different objects of one process have different names, whatever the engine calls its modules.
std::string object_name(const llvm::Module& module) {
  static std::atomic<std::uint64_t> objects{0};
  return module.getModuleIdentifier() + "#" + std::to_string(++objects);
}

// A module is known by its address and by a number in it: another one may come to lie at the address.
constexpr const char* kNumberMetadata = "tailor.module";

std::uint64_t number_in(const llvm::Module& module) {
  const llvm::NamedMDNode* named = module.getNamedMetadata(kNumberMetadata);
  if (named == nullptr) return 0;
  return llvm::mdconst::extract<llvm::ConstantInt>(named->getOperand(0)->getOperand(0))->getZExtValue();
}

std::uint64_t write_number(llvm::Module& module) {
  static std::atomic<std::uint64_t> modules{0};
  const std::uint64_t number = ++modules;
  auto* constant = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), number);
  llvm::NamedMDNode* named = module.getOrInsertNamedMetadata(kNumberMetadata);
  named->clearOperands();
  named->addOperand(llvm::MDNode::get(module.getContext(), llvm::ConstantAsMetadata::get(constant)));
  return number;
}

QueryModuleOptions sealer_options(const EngineModuleOptions& options) {
  QueryModuleOptions out;
  // A slot in memory needs nothing of the compiler: the engine's own stores write it.
  out.tags = options.tags == TagStrategy::kMemorySlot ? TagStrategy::kNone : options.tags;
  out.make_tag = options.make_tag;
  return out;
}

}  // namespace

void EngineLog::move_to(InstructionLog& log) {
  for (const auto& [handle, owners] : entries_) {
    const llvm::Value* value = handle;
    if (value != nullptr) log.record(llvm::cast<llvm::Instruction>(value), owners);
  }
  entries_.clear();
}

struct EngineModule::State {
  SealedModule::State sealed;  // its module is the engine's, and only lent
  ModuleLineage lineage;
  llvm::Module* module = nullptr;  // from begin() to emit()
  std::uint64_t module_number = 0;
  bool numbered = false;
  std::optional<ValueTracker> tracker;
};

EngineModule::EngineModule(tagging::DictionaryBuilder& plan, EngineModuleOptions options)
    : plan_(plan), options_(std::move(options)), log_(tasks_), state_(std::make_unique<State>()) {}
EngineModule::~EngineModule() = default;

Status EngineModule::number(llvm::Module& module, EngineLog& log) {
  if (std::exchange(state_->numbered, true))
    return invalid("begin() was called before for this EngineModule");
  llvm::StripDebugInfo(module);
  InstructionLog owners(tasks_);
  log.move_to(owners);
  const llvm::DenseMap<const llvm::Function*, FunctionTags> functions;
  Status numbered =
      number_module({plan_, sealer_options(options_), owners, functions}, module, state_->sealed);
  if (!numbered) return numbered;
  state_->module = &module;
  state_->module_number = write_number(module);
  return Ok{};
}

Status EngineModule::begin(llvm::Module& module) {
  return number(module, log_);
}

Status EngineModule::begin_from_locations(llvm::Module& module) {
  const LevelIndex level = static_cast<LevelIndex>(plan_.level_count() - 2);
  EngineLog log(tasks_);
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        const llvm::DebugLoc& location = instruction.getDebugLoc();
        if (!location || location.getLine() == 0) continue;
        const ComponentId task = location.getLine();
        if (task > plan_.component_count(level)) {
          return invalid(
              fmt::format("{}: a debug location has line {}, but the plan has {} components of that level",
                          function.getName().str(), task, plan_.component_count(level)));
        }
        log.record(&instruction, std::span(&task, 1));
      }
    }
  }
  return number(module, log);
}

bool EngineModule::begun() const {
  return state_->module != nullptr;
}

bool EngineModule::is_of(const llvm::Module& module) const {
  return state_->module == &module && state_->module_number == number_in(module);
}

Status EngineModule::observe(llvm::PassInstrumentationCallbacks& callbacks) {
  if (!begun()) return invalid("the module has no lineage: begin() was not called, or failed");
  if (!state_->tracker) state_->tracker.emplace(*state_->module, state_->lineage);
  state_->tracker->attach(callbacks);
  return Ok{};
}

Status EngineModule::observe(llvm::PassBuilder& builder) {
  llvm::PassInstrumentationCallbacks* callbacks = builder.getPassInstrumentationCallbacks();
  if (callbacks == nullptr) {
    return invalid(
        "the llvm::PassBuilder has no callbacks: give it a PassInstrumentationCallbacks when you make it");
  }
  return observe(*callbacks);
}

Result<EngineObject> EngineModule::emit(llvm::TargetMachine& target) {
  if (!begun()) {
    return invalid("the module has no lineage: begin() was not called, or failed, or it is compiled already");
  }
  llvm::Module& module = *std::exchange(state_->module, nullptr);
  if (module.getDataLayout().isDefault()) module.setDataLayout(target.createDataLayout());
  if (module.getDataLayout() != target.createDataLayout()) {
    return invalid("the data layout of " + module.getModuleIdentifier() +
                   " is not that of the target machine");
  }
  if (!state_->tracker) state_->tracker.emplace(module, state_->lineage);
  state_->tracker->finish();
  state_->tracker.reset();
  state_->sealed.module.reset(&module);
  auto compiled = compile_object(state_->sealed, target, state_->lineage);
  (void)state_->sealed.module.release();
  if (!compiled) return compiled.error();
  EngineObject out;
  out.object = llvm::MemoryBuffer::getMemBufferCopy(compiled->object->getBuffer(), object_name(module));
  out.lineage = digest_of(out.object->getBuffer()) + compiled->rows.build().SerializeAsString();
  return out;
}

Result<tailor::v1::RowTable> lineage_of(llvm::MemoryBufferRef object, const std::string& lineage) {
  const std::string name = object.getBufferIdentifier().str();
  const std::string digest = digest_of(object.getBuffer());
  if (lineage.compare(0, digest.size(), digest) != 0) {
    return invalid("the lineage kept for " + name + " belongs to another object: compile it again");
  }
  tailor::v1::RowTable rows;
  if (!rows.ParseFromArray(lineage.data() + digest.size(),
                           static_cast<int>(lineage.size() - digest.size()))) {
    return invalid("the lineage kept for " + name + " is damaged: compile it again");
  }
  if (auto decoded = tagging::decode_rows(rows); !decoded) {
    return invalid("the lineage kept for " + name + " is damaged: " + decoded.error().message);
  }
  return rows;
}

}  // namespace tailor::jit
