// The program through LLVM IR. Everything that profiling adds is marked: the scopes of the tracker, and that
// shared functions are called through call_shared.
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>

#include <cstdio>
#include <functional>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/query_module.h"
#include "dataflow.h"

namespace flow {
namespace {

using namespace tailor::jit;

class Generator {
 public:
  explicit Generator(Program& program)
      : p_(program),
        module_(program.plan,
                {.name = "pagerank",
                 .tags = static_cast<TagStrategy>(program.tags),
                 .make_tag = [&](auto upper, auto lower) { return tailor_tag(&program.ids, upper, lower); }}),
        b_(module_.builder()) {}

  tailor::Result<SealedModule> run() {
    auto* function = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    state_ = module_.begin_function("iteration", function)->getArg(0);
    add_ = module_.declare_shared(
        "flow_add",
        llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getDoubleTy()}, false));
    auto control = module_.tasks().enter(p_.control_step);
    vertices_ = field(offsetof(State, vertices), b_.getInt64Ty());
    loop(b_.getInt64(0), vertices_,
         [&](llvm::Value* v) { b_.CreateStore(zero(), at(next(), v, b_.getDoubleTy())); });
    loop(b_.getInt64(0), vertices_, [&](llvm::Value* v) { edges_of(v); });
    b_.CreateStore(zero(), address(offsetof(State, delta)));
    loop(b_.getInt64(0), vertices_, [&](llvm::Value* v) { settle(v); });
    b_.CreateRetVoid();
    return module_.seal();
  }

 private:
  llvm::Value* zero() { return llvm::ConstantFP::get(b_.getDoubleTy(), 0.0); }
  llvm::Value* address(std::uint64_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), state_, offset);
  }
  llvm::Value* field(std::uint64_t offset, llvm::Type* type) { return b_.CreateLoad(type, address(offset)); }
  llvm::Value* at(llvm::Value* base, llvm::Value* i, llvm::Type* type) {
    return b_.CreateInBoundsGEP(type, base, i);
  }
  llvm::Value* next() { return field(offsetof(State, next), b_.getPtrTy()); }
  llvm::Value* rank() { return field(offsetof(State, rank), b_.getPtrTy()); }

  void loop(llvm::Value* from, llvm::Value* to, const std::function<void(llvm::Value*)>& body) {
    auto* function = b_.GetInsertBlock()->getParent();
    auto* before = b_.GetInsertBlock();
    auto* head = llvm::BasicBlock::Create(module_.context(), "head", function);
    auto* inside = llvm::BasicBlock::Create(module_.context(), "body", function);
    auto* after = llvm::BasicBlock::Create(module_.context(), "after", function);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
    i->addIncoming(from, before);
    b_.CreateCondBr(b_.CreateICmpULT(i, to), inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateAdd(i, b_.getInt64(1)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  void edges_of(llvm::Value* v) {
    auto read = module_.tasks().enter(p_.read_step);
    auto* row = field(offsetof(State, row), b_.getPtrTy());
    auto* begin = b_.CreateLoad(b_.getInt64Ty(), at(row, v, b_.getInt64Ty()));
    auto* end = b_.CreateLoad(b_.getInt64Ty(), at(row, b_.CreateAdd(v, b_.getInt64(1)), b_.getInt64Ty()));
    loop(begin, end, [&](llvm::Value* e) {
      auto* target = b_.CreateLoad(b_.getInt32Ty(),
                                   at(field(offsetof(State, targets), b_.getPtrTy()), e, b_.getInt32Ty()));
      llvm::Value* share;
      {
        auto gather = module_.tasks().enter(p_.gather_step);
        auto* degree = b_.CreateUIToFP(b_.CreateSub(end, begin), b_.getDoubleTy());
        share = b_.CreateFDiv(b_.CreateLoad(b_.getDoubleTy(), at(rank(), v, b_.getDoubleTy())), degree);
      }
      auto scatter = module_.tasks().enter(p_.scatter_step);
      module_.call_shared(add_, {next(), b_.CreateZExt(target, b_.getInt64Ty()), share});
    });
  }

  void settle(llvm::Value* v) {
    llvm::Value *damped, *old;
    {
      auto damp = module_.tasks().enter(p_.damp_step);
      auto* slot = at(next(), v, b_.getDoubleTy());
      auto* base = b_.CreateFDiv(llvm::ConstantFP::get(b_.getDoubleTy(), 0.15),
                                 b_.CreateUIToFP(vertices_, b_.getDoubleTy()));
      damped = b_.CreateFAdd(base, b_.CreateFMul(llvm::ConstantFP::get(b_.getDoubleTy(), 0.85),
                                                 b_.CreateLoad(b_.getDoubleTy(), slot)));
      b_.CreateStore(damped, slot);
      old = b_.CreateLoad(b_.getDoubleTy(), at(rank(), v, b_.getDoubleTy()));
    }
    auto delta = module_.tasks().enter(p_.delta_step);
    auto* change = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b_.CreateFSub(damped, old));
    module_.call_shared(add_, {address(offsetof(State, delta)), b_.getInt64(0), change});
  }

  Program& p_;
  QueryModule module_;
  TrackedBuilder& b_;
  llvm::Value* state_ = nullptr;
  llvm::Value* vertices_ = nullptr;
  llvm::FunctionCallee add_;
};

struct LlvmCode final : Generated {
  std::unique_ptr<Jit> jit;
  std::unique_ptr<CompiledModule> code;
  std::uint64_t id = 0;
  ~LlvmCode() override { tailor_code_unload(id); }
  std::uint64_t tag(const Program& p, tailor::ComponentId node, tailor::ComponentId step) const override {
    return tailor_tag(&p.ids, node, step);
  }
  Iteration* iteration() const override { return code->function<Iteration>("iteration"); }
};

}  // namespace

std::unique_ptr<Generated> generate_llvm(Program& program) {
  auto result = std::make_unique<LlvmCode>();
  auto jit = Jit::create();
  auto sealed = Generator(program).run();
  if (!jit.ok() || !sealed.ok()) {
    std::fprintf(stderr, "%s\n", (!jit.ok() ? jit.error() : sealed.error()).message.c_str());
    return nullptr;
  }
  result->jit = std::move(*jit);
  if (!result->jit->define("flow_add", reinterpret_cast<void*>(&flow_add)).ok()) return nullptr;
  auto code = result->jit->compile(std::move(*sealed), {.level = OptLevel::kO2});
  if (!code.ok()) {
    std::fprintf(stderr, "%s\n", code.error().message.c_str());
    return nullptr;
  }
  result->code = std::move(*code);
  const std::string plan = program.plan.serialise({program.ids.id, program.ids.slot, program.ids.generation});
  tailor_plan_load(program.ids.id, plan.data(), plan.size());
  result->id = tailor_code_new();
  const std::string object = result->code->code_object(result->id, program.ids.id);
  tailor_code_load(result->id, object.data(), object.size());
  return result;
}

}  // namespace flow
