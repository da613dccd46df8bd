// Code that comes and goes: tiers of one plan side by side, reload, address reuse, several threads.
#include <gmock/gmock.h>

#include <set>
#include <stdexcept>
#include <thread>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/query_module.h"

namespace tailor::jit {
namespace {

extern "C" std::int64_t tiers_test_throw(std::int64_t x) {
  if (x < 0) throw std::runtime_error("negative");
  return x;
}

// f(x) = check(x) * factor, owned by the plan's only task.
SealedModule make_module(tagging::DictionaryBuilder& plan, std::int64_t factor) {
  if (plan.component_count(0) == 0) {
    const ComponentId op = plan.add(0, {.name = "op"});
    plan.add(1, {.name = "task"}, {&op, 1});
  }
  QueryModule module(plan, {.name = "m", .tags = TagStrategy::kR15});
  TrackedBuilder& b = module.builder();
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
  llvm::Function* f = module.begin_function("f", type);
  auto task = module.tasks().enter(1);
  llvm::Value* checked = module.call_shared(module.declare_shared("check", type), {f->getArg(0)});
  b.CreateRet(b.CreateMul(checked, b.getInt64(static_cast<std::uint64_t>(factor))));
  return std::move(*module.seal());
}

std::unique_ptr<Jit> make_jit() {
  auto jit = std::move(*Jit::create());
  EXPECT_TRUE(jit->define("check", reinterpret_cast<void*>(&tiers_test_throw)).ok());
  return jit;
}

std::set<ComponentId> components_of(const CompiledModule& code) {
  std::vector<ComponentId> ids;
  for (const tagging::Row& row : code.rows().rows()) code.rows().pool().expand(row.link, ids);
  return {ids.begin(), ids.end()};
}

TEST(Tiers, BothTiersOfAPlanReferToTheSameComponents) {
  tagging::DictionaryBuilder plan("p", {"operator", "task", "ir"});
  auto jit = make_jit();
  SealedModule quick = make_module(plan, 7);
  SealedModule good = quick.clone();
  EXPECT_EQ(quick.first_component(), good.first_component());
  EXPECT_EQ(quick.component_count(), good.component_count());
  auto o0 = jit->compile(std::move(quick), {.level = OptLevel::kO0});
  auto o2 = jit->compile(std::move(good), {.level = OptLevel::kO2});
  ASSERT_TRUE(o0.ok() && o2.ok());
  EXPECT_NE((*o0)->base(), (*o2)->base());
  for (const auto* code : {o0->get(), o2->get()}) {
    EXPECT_EQ(code->function<std::int64_t(std::int64_t)>("f")(6), 42);
    auto components = components_of(*code);
    EXPECT_FALSE(components.empty());
    for (ComponentId id : components) EXPECT_THAT(plan.owners(2, id), ::testing::ElementsAre(1));
  }
}

TEST(Tiers, UnloadedMemoryIsUsedAgain) {
  auto jit = make_jit();
  std::set<std::uint64_t> bases;
  for (std::int64_t i = 1; i <= 40; ++i) {
    tagging::DictionaryBuilder plan("p", {"operator", "task", "ir"});
    auto code = jit->compile(make_module(plan, i), {.level = OptLevel::kO1});
    ASSERT_TRUE(code.ok()) << code.error().message;
    bases.insert((*code)->base());
    EXPECT_EQ((*code)->function<std::int64_t(std::int64_t)>("f")(3), 3 * i);
    // The unwind table is that of this code, not of what was here before.
    EXPECT_THROW((*code)->function<std::int64_t(std::int64_t)>("f")(-1), std::runtime_error);
  }
  EXPECT_LE(bases.size(), 4u);
}

TEST(Tiers, SeveralModulesOfOnePlanHaveTheirOwnComponents) {
  tagging::DictionaryBuilder plan("p", {"operator", "task", "ir"});
  SealedModule a = make_module(plan, 1);
  SealedModule b = make_module(plan, 2);
  EXPECT_EQ(a.first_component(), 1u);
  EXPECT_EQ(b.first_component(), a.component_count() + 1);
  auto listing = plan.build({}).attachments(0).content();
  EXPECT_EQ(static_cast<std::uint32_t>(std::count(listing.begin(), listing.end(), '\n')),
            a.component_count() + b.component_count());
}

TEST(Tiers, ThreadsCompileAtOnce) {
  auto jit = make_jit();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        tagging::DictionaryBuilder plan("p", {"operator", "task", "ir"});
        auto code = jit->compile(make_module(plan, t * 100 + i), {.level = static_cast<OptLevel>(i % 4)});
        if (code.ok() && (*code)->function<std::int64_t(std::int64_t)>("f")(2) == 2 * (t * 100 + i)) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

}  // namespace
}  // namespace tailor::jit
