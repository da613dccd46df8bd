#include "compiler/llvm/query_module.h"

#include <llvm/Support/ModRef.h>

#include "compiler/llvm/sealer.h"
#include "compiler/llvm/tag_code.h"
#include "compiler/llvm/tag_register_pass.h"

namespace tailor::jit {

QueryModule::QueryModule(tagging::DictionaryBuilder& plan, QueryModuleOptions options)
    : plan_(plan),
      options_(std::move(options)),
      context_(std::make_unique<llvm::LLVMContext>()),
      module_(std::make_unique<llvm::Module>(options_.name, *context_)),
      log_(tasks_),
      builder_(std::make_unique<TrackedBuilder>(
          *context_, llvm::ConstantFolder(),
          TrackedInserter(options_.lineage || TagsSections(options_) ? &log_ : nullptr))) {}

QueryModule::~QueryModule() = default;

llvm::Function* QueryModule::BeginFunction(const std::string& name, llvm::FunctionType* type) {
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *module_);
  // Offline unwinding of samples needs the table even where no exception can pass.
  function->setUWTableKind(llvm::UWTableKind::Async);
  if (options_.frame_pointers) function->addFnAttr("frame-pointer", "all");
  if (options_.padding > 0) {
    function->setPrefixData(
        llvm::Constant::getNullValue(llvm::ArrayType::get(builder_->getInt8Ty(), options_.padding)));
  }
  // A call turned into a jump would leave no frame: none that puts back the caller's tag, and none by which a
  // call stack tells whom shared code works for.
  function->addFnAttr("disable-tail-calls", "true");
  builder_->SetInsertPoint(llvm::BasicBlock::Create(*context_, "entry", function));
  return function;
}

llvm::AllocaInst* QueryModule::CreateEntryAlloca(llvm::Type* type, const llvm::Twine& name) {
  TrackedBuilder::InsertPointGuard guard(*builder_);
  llvm::BasicBlock& entry = builder_->GetInsertBlock()->getParent()->getEntryBlock();
  builder_->SetInsertPoint(&entry, entry.getFirstInsertionPt());
  return builder_->CreateAlloca(type, nullptr, name);
}

llvm::FunctionCallee QueryModule::DeclareShared(const std::string& name, llvm::FunctionType* type) {
  const bool swift_self = options_.tags == TagStrategy::kSwiftSelf;
  type = TaggedType(options_.tags, type);
  llvm::FunctionCallee callee = module_->getOrInsertFunction(name, type);
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee()); function && swift_self) {
    function->addParamAttr(static_cast<unsigned>(type->getNumParams() - 1), llvm::Attribute::SwiftSelf);
  }
  return callee;
}

llvm::CallInst* QueryModule::CallShared(llvm::FunctionCallee callee, llvm::ArrayRef<llvm::Value*> args,
                                        const llvm::Twine& name) {
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->removeFnAttr(llvm::Attribute::Speculatable);
    function->addFnAttr(kSharedAttribute);
    function->setMemoryEffects(function->getMemoryEffects() | llvm::MemoryEffects::inaccessibleMemOnly());
  }
  if (options_.tags == TagStrategy::kNone || TagsSections(options_)) {
    return builder_->CreateCall(callee, args, name);
  }
  llvm::Value* before = options_.tags == TagStrategy::kR15 ? EntryTag(CurrentFunction()) : nullptr;
  return EmitTaggedCall(*builder_, options_.tags, nullptr, before, builder_->getInt64(ActiveTag()), callee,
                        args, name);
}

void QueryModule::RestoreTag() {
  if (options_.tags != TagStrategy::kR15 || TagsSections(options_)) return;
  EmitTagWrite(*builder_, options_.tags, nullptr, EntryTag(CurrentFunction()));
}

void QueryModule::SetSlot(llvm::Value* slot) {
  if (options_.tags != TagStrategy::kMemorySlot) return;
  FunctionTags& function = CurrentFunction();
  function.slot = slot;
  function.entry_tag = EmitTagRead(*builder_, options_.tags, slot);
}

Result<SealedModule> QueryModule::Seal() {
  builder_.reset();
  return SealModule({plan_, options_, log_, functions_}, std::move(context_), std::move(module_));
}

std::uint64_t QueryModule::ActiveTag() const {
  auto active = tasks_.active();
  return active.empty() ? 0 : TagOfTask(plan_, options_, active.front());
}

FunctionTags& QueryModule::CurrentFunction() {
  return functions_[builder_->GetInsertBlock()->getParent()];
}

llvm::Value* QueryModule::EntryTag(FunctionTags& function) {
  if (function.entry_tag == nullptr) {
    TrackedBuilder::InsertPointGuard guard(*builder_);
    llvm::BasicBlock& entry = builder_->GetInsertBlock()->getParent()->getEntryBlock();
    builder_->SetInsertPoint(&entry, entry.getFirstInsertionPt());
    function.entry_tag = EmitTagRead(*builder_, options_.tags, nullptr);
  }
  return function.entry_tag;
}

}  // namespace tailor::jit
