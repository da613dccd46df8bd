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
          TrackedInserter(options_.lineage || tags_sections(options_) ? &log_ : nullptr))) {}

QueryModule::~QueryModule() = default;

llvm::Function* QueryModule::begin_function(const std::string& name, llvm::FunctionType* type) {
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

llvm::AllocaInst* QueryModule::create_entry_alloca(llvm::Type* type, const llvm::Twine& name) {
  TrackedBuilder::InsertPointGuard guard(*builder_);
  llvm::BasicBlock& entry = builder_->GetInsertBlock()->getParent()->getEntryBlock();
  builder_->SetInsertPoint(&entry, entry.getFirstInsertionPt());
  return builder_->CreateAlloca(type, nullptr, name);
}

llvm::FunctionCallee QueryModule::declare_shared(const std::string& name, llvm::FunctionType* type) {
  const bool swift_self = options_.tags == TagStrategy::kSwiftSelf;
  type = tagged_type(options_.tags, type);
  llvm::FunctionCallee callee = module_->getOrInsertFunction(name, type);
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee()); function && swift_self) {
    function->addParamAttr(static_cast<unsigned>(type->getNumParams() - 1), llvm::Attribute::SwiftSelf);
  }
  return callee;
}

llvm::CallInst* QueryModule::call_shared(llvm::FunctionCallee callee, llvm::ArrayRef<llvm::Value*> args,
                                         const llvm::Twine& name) {
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->removeFnAttr(llvm::Attribute::Speculatable);
    function->addFnAttr(kSharedAttribute);
    function->setMemoryEffects(function->getMemoryEffects() | llvm::MemoryEffects::inaccessibleMemOnly());
  }
  if (options_.tags == TagStrategy::kNone || tags_sections(options_)) {
    return builder_->CreateCall(callee, args, name);
  }
  llvm::Value* before = options_.tags == TagStrategy::kR15 ? entry_tag(current_function()) : nullptr;
  return emit_tagged_call(*builder_, options_.tags, nullptr, before, builder_->getInt64(active_tag()), callee,
                          args, name);
}

void QueryModule::restore_tag() {
  if (options_.tags != TagStrategy::kR15 || tags_sections(options_)) return;
  emit_tag_write(*builder_, options_.tags, nullptr, entry_tag(current_function()));
}

void QueryModule::set_slot(llvm::Value* slot) {
  if (options_.tags != TagStrategy::kMemorySlot) return;
  FunctionTags& function = current_function();
  function.slot = slot;
  function.entry_tag = emit_tag_read(*builder_, options_.tags, slot);
}

Result<SealedModule> QueryModule::seal() {
  builder_.reset();
  return seal_module({plan_, options_, log_, functions_}, std::move(context_), std::move(module_));
}

std::uint64_t QueryModule::active_tag() const {
  auto active = tasks_.active();
  return active.empty() ? 0 : tag_of_task(plan_, options_, active.front());
}

FunctionTags& QueryModule::current_function() {
  return functions_[builder_->GetInsertBlock()->getParent()];
}

llvm::Value* QueryModule::entry_tag(FunctionTags& function) {
  if (function.entry_tag == nullptr) {
    TrackedBuilder::InsertPointGuard guard(*builder_);
    llvm::BasicBlock& entry = builder_->GetInsertBlock()->getParent()->getEntryBlock();
    builder_->SetInsertPoint(&entry, entry.getFirstInsertionPt());
    function.entry_tag = emit_tag_read(*builder_, options_.tags, nullptr);
  }
  return function.entry_tag;
}

}  // namespace tailor::jit
