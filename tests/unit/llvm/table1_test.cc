// The optimisations of Table 1 of Tailored Profiling (EuroSys 2021, section 4.2.7), one test for each row
// that a code generator meets. Every test builds IR in which the optimisation really fires, and says who must
// own the result, in the optimised IR and in the machine code. The same checks must fail on two twins that
// are broken on purpose: a plan whose tasks have changed places, and, where the optimisation makes one
// instruction do the work of two, a compilation in which nobody listens to replacements. The other
// optimisations copy, move or delete instructions: LLVM's own locations go with them, and there is no
// replacement that could be dropped.
#include <gtest/gtest.h>

#include "tests/unit/llvm/optimised_query.h"

namespace tailor::jit {
namespace {

// Three operators fused into one loop stay apart in it.
TEST(Table1, OperatorFusion) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {b.getPtrTy(), b.getPtrTy(), i64}, b.getVoidTy());
    auto read = m.tasks().enter(kRead);
    loop(m, f->getArg(2), [&](llvm::Value* i) {
      llvm::Value* value = b.CreateLoad(i64, element_of(b, i64, f->getArg(0), i));
      auto probe = m.tasks().enter(kProbe);
      llvm::Value* quotient = b.CreateUDiv(b.getInt64(1'000'000), value);
      auto sum = m.tasks().enter(kSum);
      llvm::Value* place = element_of(b, i64, f->getArg(1), b.CreateURem(quotient, b.getInt64(1000)));
      b.CreateStore(quotient, place);
    });
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    // LLVM may unroll the loop; each round has the work of all three in one block.
    return o.together({llvm::Instruction::Load, llvm::Instruction::UDiv, llvm::Instruction::Store}) &&
           o.all_belong_to(llvm::Instruction::Load, 0, {kRead}) &&
           o.all_belong_to(llvm::Instruction::UDiv, 0, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::Store, 0, {kSum}) &&
           o.all_belong_to(llvm::Instruction::URem, 0, {kSum});
  };
  auto native = [](const Optimised& o) {
    // The remainder of a constant is multiplied out.
    return o.probe_owns({"DIV"}) && o.native_owners({"MUL"}) == std::set<Tasks>{{kSum}} &&
           o.native_owners_of_stores() == std::set<Tasks>{{kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// A shift left by probe and a shift right by sum become one mask.
TEST(Table1, InstructionFusing) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    llvm::Function* f = begin(m, {b.getInt64Ty()});
    auto probe = m.tasks().enter(kProbe);
    llvm::Value* left = b.CreateShl(f->getArg(0), 8);
    auto sum = m.tasks().enter(kSum);
    b.CreateRet(b.CreateLShr(left, 8));
  };
  auto check = [](const Optimised& o) {
    return o.all(llvm::Instruction::Shl).empty() && o.all(llvm::Instruction::LShr).empty() &&
           o.all_belong_to(llvm::Instruction::And, 1, {kProbe, kSum});
  };
  auto native = [](const Optimised& o) {
    return o.native_owners({"AND", "BZHI", "BEXTR", "SHL", "SHR"}) == std::set<Tasks>{{kProbe, kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/true);
}

// What sum computes turns out to be what read had loaded: sum's instructions vanish, and the load stays with
// read alone.
TEST(Table1, CodeElimination) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {b.getPtrTy(), i64});
    auto read = m.tasks().enter(kRead);
    llvm::Value* value = b.CreateLoad(i64, f->getArg(0));
    {
      auto sum = m.tasks().enter(kSum);
      llvm::Value* mixed = b.CreateXor(value, f->getArg(1));
      value = b.CreateXor(mixed, f->getArg(1));
    }
    b.CreateRet(b.CreateMul(value, b.getInt64(7)));
  };
  auto check = [](const Optimised& o) {
    return o.all(llvm::Instruction::Xor).empty() && o.all_belong_to(llvm::Instruction::Load, 1, {kRead}) &&
           o.tasks_with_code() == Tasks{kRead};
  };
  auto native = [](const Optimised& o) {
    return o.native_owners({"XOR"}).empty() && o.native_owners({""}) == std::set<Tasks>{{kRead}};
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// Sum's operands become constants only during optimisation; nothing is left of its computation.
TEST(Table1, ConstantFolding) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {b.getPtrTy()});
    auto read = m.tasks().enter(kRead);
    llvm::Value* cell = m.create_entry_alloca(i64);
    b.CreateStore(b.getInt64(6), cell);
    {
      auto sum = m.tasks().enter(kSum);
      b.CreateStore(b.CreateMul(b.CreateLoad(i64, cell), b.getInt64(7)), cell);
    }
    b.CreateRet(b.CreateAdd(b.CreateLoad(i64, f->getArg(0)), b.CreateLoad(i64, cell)));
  };
  auto check = [](const Optimised& o) {
    return o.all(llvm::Instruction::Mul).empty() && o.all_belong_to(llvm::Instruction::Add, 1, {kRead}) &&
           o.tasks_with_code() == Tasks{kRead};
  };
  auto native = [](const Optimised& o) {
    return o.native_owners({"MUL"}).empty() && o.native_owners({""}) == std::set<Tasks>{{kRead}};
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// Probe and sum hash the same key: one multiplication is left, and it is shared.
TEST(Table1, CommonSubexpression) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {i64, b.getPtrTy()});
    auto hash = [&] { return b.CreateMul(f->getArg(0), b.getInt64(0x9E3779B97F4A7C15)); };
    {
      auto probe = m.tasks().enter(kProbe);
      b.CreateStore(hash(), f->getArg(1));
    }
    auto sum = m.tasks().enter(kSum);
    b.CreateRet(b.CreateLShr(hash(), 5));
  };
  auto check = [](const Optimised& o) {
    return o.all_belong_to(llvm::Instruction::Mul, 1, {kProbe, kSum}) &&
           o.all_belong_to(llvm::Instruction::Store, 1, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::LShr, 1, {kSum});
  };
  auto native = [](const Optimised& o) {
    return o.native_owners({"MUL"}) == std::set<Tasks>{{kProbe, kSum}} &&
           o.native_owners_of_stores() == std::set<Tasks>{{kProbe}} &&
           o.native_owners({"SHR"}) == std::set<Tasks>{{kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/true);
}

// Both sides of a branch end in the same division, which is moved behind them.
TEST(Table1, CommonCodeOfTwoBranches) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {i64, i64, b.getPtrTy()});
    auto read = m.tasks().enter(kRead);
    auto* left = llvm::BasicBlock::Create(m.context(), "left", f);
    auto* right = llvm::BasicBlock::Create(m.context(), "right", f);
    auto* end = llvm::BasicBlock::Create(m.context(), "end", f);
    b.CreateCondBr(b.CreateICmpEQ(f->getArg(0), b.getInt64(3)), left, right);
    auto side = [&](llvm::BasicBlock* block, ComponentId task) {
      b.SetInsertPoint(block);
      auto scope = m.tasks().enter(task);
      llvm::Value* quotient = b.CreateUDiv(f->getArg(0), f->getArg(1));
      b.CreateBr(end);
      return quotient;
    };
    llvm::Value* a = side(left, kProbe);
    llvm::Value* c = side(right, kSum);
    b.SetInsertPoint(end);
    auto* phi = b.CreatePHI(i64, 2);
    phi->addIncoming(a, left);
    phi->addIncoming(c, right);
    b.CreateRet(phi);
  };
  auto check = [](const Optimised& o) { return o.all_belong_to(llvm::Instruction::UDiv, 1, {kProbe, kSum}); };
  auto native = [](const Optimised& o) {
    return o.native_owners({"DIV"}) == std::set<Tasks>{{kProbe, kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/true);
}

// A loop of four rounds becomes straight code; each copy belongs to the task of the original.
TEST(Table1, LoopUnrolling) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {b.getPtrTy(), b.getPtrTy()}, b.getVoidTy());
    auto read = m.tasks().enter(kRead);
    loop(m, b.getInt64(4), [&](llvm::Value* i) {
      llvm::Value* value = b.CreateLoad(i64, element_of(b, i64, f->getArg(0), i));
      auto probe = m.tasks().enter(kProbe);
      llvm::Value* quotient = b.CreateUDiv(b.getInt64(1'000'000), value);
      auto sum = m.tasks().enter(kSum);
      b.CreateStore(quotient, element_of(b, i64, f->getArg(1), i));
    });
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    return o.all(llvm::Instruction::PHI).empty() && o.all_belong_to(llvm::Instruction::Load, 4, {kRead}) &&
           o.all_belong_to(llvm::Instruction::UDiv, 4, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::Store, 4, {kSum});
  };
  auto native = [](const Optimised& o) {
    return o.probe_owns({"DIV"}) && o.native_owners_of_stores() == std::set<Tasks>{{kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// How many rounds there are is known only when the code runs: four at a time, and a loop for the rest. What
// LLVM adds, counts and compares for that belongs to the task that loops.
TEST(Table1, RuntimeUnrolling) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {b.getPtrTy(), b.getPtrTy(), i64}, b.getVoidTy());
    auto read = m.tasks().enter(kRead);
    loop(m, f->getArg(2), [&](llvm::Value* i) {
      llvm::Value* value = b.CreateLoad(i64, element_of(b, i64, f->getArg(0), i));
      auto probe = m.tasks().enter(kProbe);
      llvm::Value* quotient = b.CreateUDiv(b.getInt64(1'000'000), value);
      auto sum = m.tasks().enter(kSum);
      b.CreateStore(quotient, element_of(b, i64, f->getArg(1), i));
    });
    llvm::LLVMContext& context = m.context();
    auto* count = llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.count"),
                                              llvm::ConstantAsMetadata::get(b.getInt32(4))});
    auto* loop = llvm::MDNode::getDistinct(context, {nullptr, count});
    loop->replaceOperandWith(0, loop);
    llvm::Instruction* back = b.GetInsertBlock()->getSinglePredecessor()->getTerminator();
    back->setMetadata(llvm::LLVMContext::MD_loop, loop);
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    // Four copies in one block, and one for the rest.
    return o.all_belong_to(llvm::Instruction::UDiv, 5, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::Load, 5, {kRead}) &&
           o.all_belong_to(llvm::Instruction::Store, 5, {kSum}) &&
           o.all(llvm::Instruction::ICmp).size() > 2 &&
           o.all_belong_to(llvm::Instruction::ICmp, 0, {kRead}) &&
           o.all_belong_to(llvm::Instruction::Br, 0, {kRead});
  };
  auto native = [](const Optimised& o) {
    return o.probe_owns({"DIV"}) && o.native_owners_of_stores() == std::set<Tasks>{{kSum}} &&
           o.native_owners({"JCC"}).contains({kRead});
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// A branch that all rounds take alike goes in front of the loop, which is copied for either side; and a
// function that is called in the loop is copied into it. All copies belong to the tasks of the originals.
TEST(Table1, UnswitchingAndInlining) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* divide = m.begin_function("divide", llvm::FunctionType::get(i64, {i64, i64}, false));
    {
      auto probe = m.tasks().enter(kProbe);
      b.CreateRet(b.CreateUDiv(divide->getArg(0), divide->getArg(1)));
    }
    llvm::Function* f =
        begin(m, {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), i64, b.getInt1Ty(), i64}, b.getVoidTy());
    for (unsigned argument : {0u, 1u, 2u}) f->addParamAttr(argument, llvm::Attribute::NoAlias);
    f->addParamAttr(4, llvm::Attribute::NoUndef);
    auto read = m.tasks().enter(kRead);
    loop(m, f->getArg(3), [&](llvm::Value* i) {
      llvm::Value* value = b.CreateLoad(i64, element_of(b, i64, f->getArg(0), i));
      auto* yes = llvm::BasicBlock::Create(m.context(), "yes", f);
      auto* no = llvm::BasicBlock::Create(m.context(), "no", f);
      auto* both = llvm::BasicBlock::Create(m.context(), "both", f);
      b.CreateCondBr(f->getArg(4), yes, no);
      b.SetInsertPoint(yes);
      {
        auto probe = m.tasks().enter(kProbe);
        b.CreateStore(b.CreateCall(divide, {value, f->getArg(5)}), element_of(b, i64, f->getArg(1), i));
      }
      b.CreateBr(both);
      b.SetInsertPoint(no);
      {
        auto sum = m.tasks().enter(kSum);
        b.CreateStore(b.CreateMul(value, f->getArg(5)), element_of(b, i64, f->getArg(2), i));
      }
      b.CreateBr(both);
      b.SetInsertPoint(both);
    });
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    const auto divisions = o.all(llvm::Instruction::UDiv);
    auto calls_divide = [](const llvm::Instruction* i) {
      const llvm::Function* callee = llvm::cast<llvm::CallInst>(i)->getCalledFunction();
      return callee != nullptr && callee->getName() == "divide";
    };
    auto asks_the_flag = [](const llvm::Instruction* i) {
      const auto* branch = llvm::cast<llvm::BranchInst>(i);
      return branch->isConditional() && llvm::isa<llvm::Argument>(branch->getCondition());
    };
    const auto calls = o.all(llvm::Instruction::Call);
    const auto branches = o.all(llvm::Instruction::Br);
    const auto asks = std::find_if(branches.begin(), branches.end(), asks_the_flag);
    return divisions.size() > 1 && std::none_of(calls.begin(), calls.end(), calls_divide) &&
           asks != branches.end() && (*asks)->getParent()->isEntryBlock() &&
           std::count_if(branches.begin(), branches.end(), asks_the_flag) == 1 &&
           o.all_belong_to(llvm::Instruction::UDiv, 0, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::Mul, 0, {kSum}) &&
           o.all_belong_to(llvm::Instruction::Load, 0, {kRead});
  };
  auto native = [](const Optimised& o) {
    return o.probe_owns({"DIV"}) && o.native_owners_of_stores() == std::set<Tasks>{{kProbe}, {kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/false, OptLevel::kO3);
}

// Column-at-a-time work on floating point numbers: the loop is vectorised and interleaved, with a remainder.
TEST(Table1, VectorisedAndInterleavedLoop) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* f64 = b.getDoubleTy();
    llvm::Function* f = begin(m, {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, b.getVoidTy());
    for (unsigned argument : {0u, 1u}) f->addParamAttr(argument, llvm::Attribute::NoAlias);
    auto read = m.tasks().enter(kRead);
    loop(m, f->getArg(2), [&](llvm::Value* i) {
      llvm::Value* value = b.CreateLoad(f64, element_of(b, f64, f->getArg(0), i));
      auto probe = m.tasks().enter(kProbe);
      llvm::Value* product = b.CreateFMul(value, llvm::ConstantFP::get(f64, 1.5));
      auto sum = m.tasks().enter(kSum);
      b.CreateStore(b.CreateFAdd(product, llvm::ConstantFP::get(f64, 0.25)),
                    element_of(b, f64, f->getArg(1), i));
    });
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    auto products = o.all(llvm::Instruction::FMul);
    std::map<const llvm::BasicBlock*, int> vectors;
    int interleaved = 0, scalars = 0;
    for (const llvm::Instruction* product : products) {
      const bool vector = product->getType()->isVectorTy();
      scalars += !vector;
      if (vector) interleaved = std::max(interleaved, ++vectors[product->getParent()]);
    }
    // Several vector copies in one round (interleaved) and at least one scalar copy (the remainder).
    return interleaved > 1 && scalars > 0 &&
           o.all_belong_to(llvm::Instruction::FMul, products.size(), {kProbe}) &&
           o.all_belong_to(llvm::Instruction::FAdd, products.size(), {kSum}) &&
           o.all_belong_to(llvm::Instruction::Load, products.size(), {kRead}) &&
           o.all_belong_to(llvm::Instruction::Store, products.size(), {kSum});
  };
  auto native = [](const Optimised& o) {
    return !o.native_owners({"MULPD"}).empty() && o.probe_owns({"MULPD", "MULSD"}) &&
           o.native_owners({"ADDPD", "ADDSD"}) == std::set<Tasks>{{kSum}} &&
           o.native_owners_of_stores() == std::set<Tasks>{{kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// Polyhedral: the statements of one loop are scheduled into two, because one of them depends on an earlier
// round and keeps the other from being vectorised. Each loop has one task's work and a copy of the loop
// control, which stays with the task that loops. (Of the loop passes in LLVM's default pipeline this is the
// one that moves statements across rounds; it does not run Polly, which libLLVM may contain as an extension:
// polly_test.cc.)
TEST(Table1, PolyhedralLoopFission) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* f64 = b.getDoubleTy();
    llvm::Function* f =
        begin(m, {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, b.getVoidTy());
    for (unsigned argument = 0; argument < 4; ++argument) f->addParamAttr(argument, llvm::Attribute::NoAlias);
    auto control = m.tasks().enter(kRead);
    loop(m, f->getArg(4), [&](llvm::Value* i) {
      {
        auto build_side = m.tasks().enter(kBuild);
        llvm::Value* before = b.CreateLoad(f64, element_of(b, f64, f->getArg(0), i));
        llvm::Value* next = b.CreateAdd(i, b.getInt64(3), "", true, true);
        b.CreateStore(b.CreateFDiv(before, llvm::ConstantFP::get(f64, 3)),
                      element_of(b, f64, f->getArg(0), next));
      }
      auto sum = m.tasks().enter(kSum);
      llvm::Value* value = b.CreateLoad(f64, element_of(b, f64, f->getArg(1), i));
      llvm::Value* other = b.CreateLoad(f64, element_of(b, f64, f->getArg(2), i));
      b.CreateStore(b.CreateFMul(value, other), element_of(b, f64, f->getArg(3), i));
    });
    llvm::Instruction* back = b.GetInsertBlock()->getSinglePredecessor()->getTerminator();
    llvm::LLVMContext& context = m.context();
    auto text = [&](const char* what) { return llvm::MDString::get(context, what); };
    auto* wanted =
        llvm::MDNode::get(context, {text("llvm.loop.distribute.enable"),
                                    llvm::ConstantAsMetadata::get(llvm::ConstantInt::getTrue(context))});
    // The loops that come of it are not to be distributed again.
    auto* done = llvm::MDNode::get(context, text("llvm.loop.mustprogress"));
    auto* after = llvm::MDNode::get(context, {text("llvm.loop.distribute.followup_all"), done});
    auto* loop = llvm::MDNode::getDistinct(context, {nullptr, wanted, after});
    loop->replaceOperandWith(0, loop);
    back->setMetadata(llvm::LLVMContext::MD_loop, loop);
    b.CreateRetVoid();
  };
  auto check = [](const Optimised& o) {
    // Only apart from the division of each round can the products be vectorised.
    auto products = o.all(llvm::Instruction::FMul);
    const bool vectors = std::any_of(products.begin(), products.end(),
                                     [](const auto* i) { return i->getType()->isVectorTy(); });
    auto jumps = o.all(llvm::Instruction::ICmp);
    return vectors && jumps.size() > 1 && o.all_belong_to(llvm::Instruction::ICmp, 0, {kRead}) &&
           o.all_belong_to(llvm::Instruction::FMul, 0, {kSum}) &&
           o.all_belong_to(llvm::Instruction::FDiv, 0, {kBuild});
  };
  auto native = [](const Optimised& o) {
    return o.native_owners({"MULPD", "MULSD"}) == std::set<Tasks>{{kSum}} &&
           o.native_owners({"DIVSD"}) == std::set<Tasks>{{kBuild}} &&
           o.native_owners_of_stores() == std::set<Tasks>{{kBuild}, {kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/false);
}

// Section 5.4: a groupjoin does the work of a join and of a group-by. What both compute, the hash of the key,
// is computed once and belongs to both; what is left of them stays apart, down to the machine code. (weft's
// groupjoin: tests/integration/weft_lineage/group_join_test.cc)
TEST(Table1, DataflowGraphOperatorFusion) {
  auto build = [](QueryModule& m) {
    auto& b = m.builder();
    auto* i64 = b.getInt64Ty();
    llvm::Function* f = begin(m, {b.getPtrTy(), i64, i64});
    auto hash = [&] { return b.CreateMul(f->getArg(1), b.getInt64(0x9E3779B97F4A7C15)); };
    auto join = m.tasks().enter(kProbe);
    llvm::Value* entry = element_of(b, i64, f->getArg(0), b.CreateURem(hash(), f->getArg(2)));
    auto group = m.tasks().enter(kSum);
    llvm::Value* total = b.CreateSDiv(b.CreateXor(b.CreateLoad(i64, entry), hash()), f->getArg(2));
    b.CreateStore(total, entry);
    b.CreateRet(total);
  };
  auto check = [](const Optimised& o) {
    return o.all_belong_to(llvm::Instruction::Mul, 1, {kProbe, kSum}) &&
           o.all_belong_to(llvm::Instruction::URem, 1, {kProbe}) &&
           o.all_belong_to(llvm::Instruction::SDiv, 1, {kSum}) &&
           o.all_belong_to(llvm::Instruction::Store, 1, {kSum});
  };
  auto native = [](const Optimised& o) {
    return o.native_owners({"IMUL"}) == std::set<Tasks>{{kProbe, kSum}} &&
           o.native_owners({"IDIV"}) == std::set<Tasks>{{kSum}} &&
           o.native_owners_of_stores() == std::set<Tasks>{{kSum}};
  };
  expect_tracked(build, check, native, /*merges=*/true);
}

}  // namespace
}  // namespace tailor::jit
