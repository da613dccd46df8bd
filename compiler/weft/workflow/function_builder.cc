#include "compiler/weft/workflow/function_builder.h"

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Metadata.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "compiler/weft/codegen/program.h"
#include "compiler/weft/workflow/udf_check.h"

namespace tailor::weft::workflow {
namespace {

// A thread has 8 MiB by default.
constexpr std::uint64_t kMostFrame = std::uint64_t{2} << 20;

}  // namespace

void FunctionBuilder::begin(const std::string& name, std::uint32_t pipeline, ComponentId source) {
  auto* type = llvm::FunctionType::get(
      ir().getVoidTy(), {ir().getPtrTy(), ir().getPtrTy(), ir().getInt64Ty(), ir().getInt64Ty()}, false);
  function_ = module_.begin_function(name, type);
  const char* names[] = {"shared", "local", "begin", "end"};
  for (unsigned i = 0; i < 4; ++i) function_->getArg(i)->setName(names[i]);
  // The two blocks hold pointers and words that nothing else points to.
  for (unsigned i = 0; i < 2; ++i) function_->addParamAttr(i, llvm::Attribute::NoAlias);
  pipeline_ = pipeline;
  source_ = source;
  tasks_ = {source};
  dictionary_.append_task(pipeline, source);
  stack_bytes_ = 0;
  inliner_.reset_stack();
  shared_values_.clear();
  contexts_.assign(workflow_.contexts.size(), nullptr);
  columns_.clear();
  for (const Input& input : workflow_.inputs) columns_.emplace_back(input.fields.size(), nullptr);
  source_scope_.emplace(module_.tasks().enter(source));
  if (module_.tags() == jit::TagStrategy::kMemorySlot) {
    llvm::Value* place = ir().CreateConstInBoundsGEP1_64(ir().getInt8Ty(), argument(1), kLocalSlotOffset);
    module_.set_slot(ir().CreateLoad(ir().getPtrTy(), place, "slot"));
  }
  // Pointers are loaded in front of this branch, whenever the first use of one is generated.
  llvm::BasicBlock* body = new_block("work");
  start_end_ = ir().CreateBr(body);
  ir().SetInsertPoint(body);
}

void FunctionBuilder::end(Place place) {
  ir().CreateRetVoid();
  source_scope_.reset();
  mark_distinct_memory();
  const std::uint64_t bytes = stack_bytes_ + inliner_.stack_bytes();
  if (bytes <= kMostFrame) return;
  throw LoweringFailure{
      error_at(workflow_.file, place,
               fmt::format("the functions of this pipeline need {} bytes of stack together, and may need {}",
                           bytes, kMostFrame))};
}

void FunctionBuilder::mark_distinct_memory() {
  std::vector<llvm::Value*> objects;
  for (const auto& fields : columns_) objects.insert(objects.end(), fields.begin(), fields.end());
  objects.insert(objects.end(), contexts_.begin(), contexts_.end());
  std::erase(objects, nullptr);
  for (const auto& [offset, value] : shared_values_)
    if (value->getType()->isPointerTy()) objects.push_back(value);
  if (objects.size() < 2) return;
  llvm::LLVMContext& context = module_.context();
  llvm::MDBuilder metadata(context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("weft");
  std::vector<llvm::Metadata*> scopes;
  for (const llvm::Value* each : objects)
    scopes.push_back(metadata.createAnonymousAliasScope(domain, each->getName()));
  std::map<const llvm::Value*, std::pair<llvm::MDNode*, llvm::MDNode*>> marks;  // its own scope, all others
  for (std::size_t i = 0; i < objects.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    marks[objects[i]] = {llvm::MDNode::get(context, {scopes[i]}), llvm::MDNode::get(context, others)};
  }
  for (llvm::BasicBlock& block : *function_) {
    for (llvm::Instruction& instruction : block) {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
      if (pointer == nullptr) continue;
      const auto mark = marks.find(llvm::getUnderlyingObject(pointer, 0));
      if (mark == marks.end()) continue;
      instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, mark->second.first);
      instruction.setMetadata(llvm::LLVMContext::MD_noalias, mark->second.second);
    }
  }
}

void FunctionBuilder::run_task(ComponentId task, const std::function<void()>& generate) {
  if (std::ranges::find(tasks_, task) == tasks_.end()) {
    tasks_.push_back(task);
    dictionary_.append_task(pipeline_, task);
  }
  const auto active = module_.tasks().enter(task);
  generate();
}

llvm::BasicBlock* FunctionBuilder::new_block(const char* name) {
  return llvm::BasicBlock::Create(module_.context(), name, function_);
}

void FunctionBuilder::count_loop(llvm::Value* begin, llvm::Value* end,
                                 const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = ir().GetInsertBlock();
  llvm::BasicBlock* loop = new_block("loop");
  llvm::BasicBlock* after = new_block("after");
  ir().CreateCondBr(ir().CreateICmpULT(begin, end), loop, after);
  ir().SetInsertPoint(loop);
  llvm::PHINode* i = ir().CreatePHI(ir().getInt64Ty(), 2, "i");
  i->addIncoming(begin, before);
  body(i);
  llvm::Value* next = ir().CreateNUWAdd(i, ir().getInt64(1));
  i->addIncoming(next, ir().GetInsertBlock());
  ir().CreateCondBr(ir().CreateICmpULT(next, end), loop, after);
  // Behind the body, whose blocks were made after it.
  after->moveAfter(ir().GetInsertBlock());
  ir().SetInsertPoint(after);
}

void FunctionBuilder::chain_loop(llvm::Value* first, llvm::Value* links,
                                 const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = ir().GetInsertBlock();
  llvm::BasicBlock* chain = new_block("chain");
  llvm::BasicBlock* after = new_block("after");
  llvm::Value* none = ir().getInt64(0);
  ir().CreateCondBr(ir().CreateICmpNE(first, none), chain, after);
  ir().SetInsertPoint(chain);
  llvm::PHINode* link = ir().CreatePHI(ir().getInt64Ty(), 2, "link");
  link->addIncoming(first, before);
  llvm::Value* row = ir().CreateNUWSub(link, ir().getInt64(1));
  body(row);
  llvm::Value* following = ir().CreateLoad(ir().getInt64Ty(), element(links, row, 8), "following");
  link->addIncoming(following, ir().GetInsertBlock());
  ir().CreateCondBr(ir().CreateICmpNE(following, none), chain, after);
  after->moveAfter(ir().GetInsertBlock());
  ir().SetInsertPoint(after);
}

void FunctionBuilder::when(llvm::Value* condition, const std::function<void()>& then) {
  llvm::BasicBlock* yes = new_block("then");
  llvm::BasicBlock* next = new_block("next");
  ir().CreateCondBr(condition, yes, next);
  ir().SetInsertPoint(yes);
  then();
  ir().CreateBr(next);
  next->moveAfter(ir().GetInsertBlock());
  ir().SetInsertPoint(next);
}

void FunctionBuilder::call_runtime(const char* name, llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* each : arguments) types.push_back(each->getType());
  auto* type = llvm::FunctionType::get(ir().getVoidTy(), types, false);
  module_.call_shared(module_.declare_shared(name, type), arguments);
}

llvm::Type* FunctionBuilder::type_of(Scalar scalar) {
  return llvm_type(scalar, module_.context());
}

llvm::Value* FunctionBuilder::loaded_at_start(llvm::Type* type, llvm::Value* block, std::size_t offset,
                                              const std::string& name) {
  const jit::TrackedBuilder::InsertPointGuard guard(ir());
  const auto source = module_.tasks().enter(source_);
  ir().SetInsertPoint(start_end_);
  llvm::Value* place = ir().CreateConstInBoundsGEP1_64(ir().getInt8Ty(), block, offset);
  return ir().CreateLoad(type, place, name);
}

llvm::Value* FunctionBuilder::column(std::uint32_t input, std::uint32_t field) {
  llvm::Value*& known = columns_[input][field];
  if (known == nullptr)
    known = loaded_at_start(ir().getPtrTy(), argument(0), program_.column_offsets[input][field],
                            workflow_.inputs[input].fields[field].name);
  return known;
}

llvm::Value* FunctionBuilder::context(std::uint32_t index) {
  llvm::Value*& known = contexts_[index];
  if (known == nullptr)
    known = loaded_at_start(ir().getPtrTy(), argument(1), kContextsOffset + 8 * std::size_t{index},
                            workflow_.contexts[index].name);
  return known;
}

llvm::Value* FunctionBuilder::shared_pointer(std::size_t offset) {
  return shared_value(ir().getPtrTy(), offset);
}

llvm::Value* FunctionBuilder::shared_value(llvm::Type* type, std::size_t offset) {
  llvm::Value*& known = shared_values_[offset];
  if (known == nullptr) known = loaded_at_start(type, argument(0), offset, "shared");
  return known;
}

llvm::Value* FunctionBuilder::shared_word(std::size_t offset) {
  return ir().CreateConstInBoundsGEP1_64(ir().getInt8Ty(), argument(0), offset);
}

llvm::Value* FunctionBuilder::element(llvm::Value* base, llvm::Value* index, std::uint64_t bytes) {
  // An array type has the size in it, so that LLVM sees an index and no multiplication.
  auto* type = llvm::ArrayType::get(ir().getInt8Ty(), bytes);
  return ir().CreateInBoundsGEP(type, base, index);
}

llvm::Value* FunctionBuilder::variable(Scalar scalar, std::uint64_t values, const std::string& name) {
  stack_bytes_ += values * scalar_bytes(scalar);
  llvm::AllocaInst* place = module_.create_entry_alloca(llvm::ArrayType::get(type_of(scalar), values), name);
  place->setAlignment(llvm::Align(16));
  return place;
}

llvm::Value* FunctionBuilder::widened(llvm::Value* whole) {
  return whole->getType()->isIntegerTy(64) ? whole : ir().CreateSExt(whole, ir().getInt64Ty());
}

llvm::Value* FunctionBuilder::truth(llvm::Value* said) {
  if (said->getType()->isIntegerTy(1)) return said;
  return ir().CreateICmpNE(said, llvm::ConstantInt::get(said->getType(), 0));
}

llvm::Value* FunctionBuilder::constant(llvm::Type* type, const Argument& argument) {
  if (argument.kind == Argument::Kind::kReal) return llvm::ConstantFP::get(type, argument.real);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, static_cast<double>(argument.integer));
  using Int32 = std::numeric_limits<std::int32_t>;
  if (type->isIntegerTy(32) && (argument.integer < Int32::min() || argument.integer > Int32::max())) {
    throw LoweringFailure{error_at(
        workflow_.file, argument.place,
        fmt::format("the function takes a number of 32 bits here, and {} does not fit", argument.integer))};
  }
  return llvm::ConstantInt::getSigned(type, argument.integer);
}

std::vector<llvm::Value*> FunctionBuilder::arguments(const llvm::Function& function, unsigned first,
                                                     const Call& call,
                                                     const std::vector<std::uint32_t>& changed,
                                                     const std::vector<FieldValue>& fields) {
  std::vector<llvm::Value*> out;
  for (const Argument& each : call.arguments) {
    switch (each.kind) {
      case Argument::Kind::kField:
        out.push_back(fields[each.index].value);
        break;
      case Argument::Kind::kContext: {
        const Context& seen = workflow_.contexts[each.index];
        const bool by_pointer =
            !seen.shape.empty() || std::ranges::find(changed, each.index) != changed.end();
        llvm::Value* pointer = context(each.index);
        out.push_back(by_pointer ? pointer : ir().CreateLoad(type_of(seen.scalar), pointer, seen.name));
        break;
      }
      case Argument::Kind::kInteger:
      case Argument::Kind::kReal:
        out.push_back(constant(
            function.getFunctionType()->getParamType(first + static_cast<unsigned>(out.size())), each));
        break;
    }
  }
  return out;
}

}  // namespace tailor::weft::workflow
