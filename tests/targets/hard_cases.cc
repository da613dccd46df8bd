// The cases in which profilers guess whom shared code works for, one at a time, with the truth beside.
//
//   hard_cases CASE STRATEGY MILLISECONDS       strategy: r15, swiftself, slot, none
//
// Generated code of operators A and B (through the LLVM adapter) calls shared code that burns CPU time.
// Shared code is told in an argument who is to be charged, and reads the thread's CPU clock around what it
// does: that is the truth, printed at the end as JSON, operator -> ns. The profiler sees the tags alone.
#include <sys/mman.h>
#include <sys/wait.h>
#include <tailor/tag_scope.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/query_module.h"

namespace {

using tailor::TagScope;
using tailor::jit::QueryModule;
using tailor::jit::TagStrategy;

enum Who : std::uint64_t { kA = 1, kB = 2 };
constexpr std::uint64_t kPiece = 100'000;  // turns, some tens of microseconds

std::uint32_t strategy = TAILOR_TAGS_R15;
std::array<std::atomic<std::uint64_t>, 3> truth;  // by Who, ns
thread_local std::array<std::uint64_t, 3> tags;   // of the query this thread works for
thread_local std::atomic<std::uint64_t>* truth_of = truth.data();

std::uint64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Charges what happens while it lives.
class Charge {
 public:
  explicit Charge(std::uint64_t who) : who_(who), begin_(cpu_ns()) {}
  ~Charge() { truth_of[who_] += cpu_ns() - begin_; }

 private:
  std::uint64_t who_, begin_;
};

// ---- Shared code: compiled so that it leaves the tag's registers alone. ----

extern "C" void rt_burn(std::uint64_t turns, std::uint64_t who) {
  Charge charge(who);
  asm volatile("1: dec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
}

// Works for its caller, hands a part to B, and works for its caller again.
extern "C" void rt_nested(std::uint64_t turns) {
  rt_burn(turns, kA);
  {
    TagScope scope(strategy, tags[kB]);
    rt_burn(3 * turns, kB);
  }
  rt_burn(turns, kA);
}

using Visit = void(std::uint64_t* slot, std::uint64_t turns);

// Calls generated code back, which calls shared code in turn.
extern "C" void rt_callback(Visit* visit, std::uint64_t turns) {
  for (int i = 0; i < 4; ++i) {
    rt_burn(turns, kA);
    visit(tailor_thread_slot(), turns);
  }
}

extern "C" void rt_throw(std::uint64_t turns) {
  rt_burn(turns, kB);
  throw static_cast<int>(turns & 1);
}

// The unwinder knows nothing of the register: who catches restores the tag by a scope inside the try block.
extern "C" void rt_catch(Visit* throws, std::uint64_t turns) {
  // To throw takes time, too. Until the scope has ended it is B's, and then A's.
  const std::uint64_t begin = cpu_ns(), of_b = truth_of[kB];
  std::uint64_t back = begin;
  try {
    struct Behind {
      std::uint64_t& at;
      ~Behind() { at = cpu_ns(); }
    } behind{back};
    TagScope keep(strategy, tailor_tag_read(strategy));
    throws(tailor_thread_slot(), turns);
  } catch (int) {
  }
  truth_of[kB] += back - begin - (truth_of[kB] - of_b);
  truth_of[kA] += cpu_ns() - back;
  rt_burn(2 * turns, kA);
}

// Takes turns with itself: even depths work for A, odd ones for B, on the way down and up.
extern "C" void rt_recurse(std::uint64_t depth, std::uint64_t turns) {
  const std::uint64_t who = depth % 2 == 0 ? kA : kB;
  TagScope scope(strategy, tags[who]);
  rt_burn(who * turns, who);
  if (depth > 0) rt_recurse(depth - 1, turns);
  rt_burn(who * turns, who);
}

extern "C" void on_signal(int) {
  TagScope scope(strategy, tags[kB]);
  rt_burn(kPiece, kB);
}

extern "C" void rt_signals(std::uint64_t turns) {
  for (int i = 0; i < 4; ++i) {
    rt_burn(turns, kA);
    // Sending it is A's; the handler charges itself.
    const std::uint64_t begin = cpu_ns(), of_b = truth_of[kB];
    std::raise(SIGUSR1);
    truth_of[kA] += cpu_ns() - begin - (truth_of[kB] - of_b);
  }
}

extern "C" void rt_malloc(std::uint64_t count) {
  Charge charge(kA);
  static thread_local std::array<void*, 256> held{};
  std::uint64_t random = count | 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    void*& place = held[(random >> 33) % held.size()];
    std::free(place);
    place = std::malloc(16 + (random >> 41) % 2000);
  }
}

extern "C" void rt_faults(std::uint64_t pages) {
  Charge charge(kA);
  const std::size_t bytes = pages * 4096;
  auto* memory = static_cast<volatile char*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) std::abort();
  for (std::uint64_t i = 0; i < pages; ++i) memory[i * 4096] = 1;
  ::munmap(const_cast<char*>(memory), bytes);
}

// ---- The engine. ----

void* untouched = nullptr;  // for the generated function touch

// Every generated function takes the slot first: void f(slot, n).
class Query {
 public:
  Query(tailor::jit::Jit& jit, const std::string& name) : dictionary_(name, {"operator", "task", "ir"}) {
    ids_ = tailor_plan_new();
    for (const char* component : {"A", "B"}) {
      const auto op = dictionary_.add(0, {.name = component, .kind = "burn"});
      dictionary_.add(1, {.name = component, .kind = "task"}, {&op, 1});
    }
    QueryModule module(dictionary_,
                       {.name = name,
                        .tags = static_cast<TagStrategy>(strategy),
                        .make_tag = [this](auto upper, auto lower) { return tag(upper, lower); }});
    generate(module);
    auto sealed = module.seal();
    if (!sealed.ok()) die(sealed.error().message);
    auto code = jit.compile(std::move(*sealed), {.level = tailor::jit::OptLevel::kO2});
    if (!code.ok()) die(code.error().message);
    code_ = std::move(*code);
    const std::string plan = dictionary_.serialise({ids_.id, ids_.slot, ids_.generation});
    tailor_plan_load(ids_.id, plan.data(), plan.size());
    const std::uint64_t id = tailor_code_new();
    const std::string object = code_->code_object(id, ids_.id);
    tailor_code_load(id, object.data(), object.size());
  }

  void enter() const { tags = {0, tag(1, 1), tag(2, 2)}; }
  void call(const std::string& function, std::uint64_t n) const {
    code_->function<Visit>(function)(tailor_thread_slot(), n);
  }
  const tailor_plan_ids& ids() const { return ids_; }

 private:
  [[noreturn]] static void die(const std::string& why) {
    std::fprintf(stderr, "hard_cases: %s\n", why.c_str());
    std::exit(1);
  }
  std::uint64_t tag(std::uint32_t upper, std::uint32_t lower) const {
    return tailor_tag(&ids_, upper, lower);
  }

  void generate(QueryModule& module) {
    auto& ir = module.builder();
    auto* i64 = ir.getInt64Ty();
    auto* ptr = ir.getPtrTy();
    auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ptr, i64}, false);
    auto shared = [&](const char* name, std::vector<llvm::Type*> arguments) {
      return module.declare_shared(name, llvm::FunctionType::get(ir.getVoidTy(), arguments, false));
    };
    auto burn = shared("rt_burn", {i64, i64});
    auto function = [&](const std::string& name, std::uint32_t task,
                        const std::function<void(llvm::Function*, llvm::Value*)>& body) {
      llvm::Function* f = module.begin_function(name, type);
      auto scope = module.tasks().enter(task);
      module.set_slot(f->getArg(0));
      body(f, f->getArg(1));
      ir.CreateRetVoid();
      return f;
    };
    auto burn_for = [&](Who who, llvm::Value* n) {
      auto scope = module.tasks().enter(who);
      module.call_shared(burn, {n, ir.getInt64(who)});
    };
    auto call = [&](const std::string& name, const char* callee, std::vector<llvm::Value*> first) {
      std::vector<llvm::Type*> types;
      for (llvm::Value* value : first) types.push_back(value->getType());
      types.push_back(i64);
      function(name, kA, [&](llvm::Function*, llvm::Value* n) {
        std::vector<llvm::Value*> all = first;
        all.push_back(n);
        module.call_shared(shared(callee, types), all);
      });
    };
    function("plain", kA, [&](llvm::Function*, llvm::Value* n) {
      burn_for(kA, n);
      burn_for(kB, ir.CreateMul(n, ir.getInt64(3)));
    });
    auto* visit = function("visit", kB, [&](llvm::Function*, llvm::Value* n) { burn_for(kB, n); });
    auto* throws = function("throws", kB, [&](llvm::Function*, llvm::Value* n) {
      auto scope = module.tasks().enter(kB);
      module.call_shared(shared("rt_throw", {i64}), {n});
    });
    call("nested", "rt_nested", {});
    call("callback", "rt_callback", {visit});
    call("exception", "rt_catch", {throws});
    call("recursion", "rt_recurse", {ir.getInt64(20)});
    call("signal", "rt_signals", {});
    call("allocate", "rt_malloc", {});
    call("fault", "rt_faults", {});
    // Stores to a page each, from generated code itself.
    function("touch", kA, [&](llvm::Function* f, llvm::Value* pages) {
      auto* place_of =
          llvm::ConstantExpr::getIntToPtr(ir.getInt64(reinterpret_cast<std::uint64_t>(&untouched)), ptr);
      auto* memory = ir.CreateLoad(ptr, place_of);
      auto* before = ir.GetInsertBlock();
      auto* body = llvm::BasicBlock::Create(module.context(), "page", f);
      auto* after = llvm::BasicBlock::Create(module.context(), "after", f);
      ir.CreateBr(body);
      ir.SetInsertPoint(body);
      auto* i = ir.CreatePHI(i64, 2, "i");
      i->addIncoming(ir.getInt64(0), before);
      auto* place = ir.CreateGEP(ir.getInt8Ty(), memory, ir.CreateMul(i, ir.getInt64(4096)));
      ir.CreateStore(ir.getInt8(1), place, /*isVolatile=*/true);
      auto* next = ir.CreateAdd(i, ir.getInt64(1));
      i->addIncoming(next, body);
      ir.CreateCondBr(ir.CreateICmpULT(next, pages), body, after);
      ir.SetInsertPoint(after);
    });
  }

  tailor::tagging::DictionaryBuilder dictionary_;
  tailor_plan_ids ids_{};
  std::unique_ptr<tailor::jit::CompiledModule> code_;
};

// Memory that generated code touches first, a page at a time: the faults are A's.
void touch(const Query& query) {
  constexpr std::uint64_t kPages = 512;
  void* memory = ::mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  untouched = memory;
  {
    Charge charge(kA);
    query.call("touch", kPages);
  }
  ::munmap(memory, kPages * 4096);
}

using Piece = std::function<void(const Query&)>;

// One execution after the other until the time is over. Between them the thread carries no tag.
void run(const Query& query, const Piece& piece, std::uint64_t until) {
  query.enter();
  while (cpu_ns() < until) {
    const std::uint64_t execution = tailor_execution_begin(query.ids().id, nullptr, 0);
    tailor_mark_execution_begin(execution, query.ids().id);
    {
      TagScope none(strategy, TAILOR_TAG_NONE);
      for (int i = 0; i < 20; ++i) piece(query);
    }
    tailor_mark_execution_end(execution);
    tailor_execution_end(execution, 0, nullptr);
  }
}

// Pieces of half to one and a half of the size: samples of a program with a rhythm are not independent of
// each other (daemon/capture/select/jitter.h), and the bounds of the test are those of independent ones.
std::uint64_t some(std::uint64_t n) {
  static thread_local std::minstd_rand random;
  return n / 2 + static_cast<std::uint64_t>(random()) % n;
}

const std::map<std::string, Piece>& cases() {
  static const auto call = [](const char* function, std::uint64_t n) {
    return [=](const Query& query) { query.call(function, some(n)); };
  };
  static const auto and_burn = [](const char* function, std::uint64_t n) {
    return [=](const Query& query) {
      query.call(function, some(n));
      query.call("visit", some(20 * kPiece));
    };
  };
  static const std::map<std::string, Piece> cases = {
      {"plain", call("plain", kPiece)},
      {"nested", call("nested", kPiece)},
      {"callback", call("callback", kPiece)},
      {"exception", call("exception", kPiece)},
      {"recursion", call("recursion", kPiece)},
      {"signal", call("signal", kPiece)},
      {"malloc", and_burn("allocate", 20'000)},
      {"fault", and_burn("fault", 512)},
      {"touch",
       [](const Query& query) {
         touch(query);
         query.call("visit", some(20 * kPiece));
       }},
  };
  return cases;
}

// The child has no agent: what it does is not its parent's, though the same code runs under the same tags.
void fork(const Query& query, std::uint64_t until) {
  const pid_t child = ::fork();
  if (child == 0) {
    run(query, [](const Query& q) { q.call("visit", some(kPiece)); }, until);
    ::_exit(0);
  }
  run(query, cases().at("plain"), until);
  ::waitpid(child, nullptr, 0);
}

// Two threads serve two queries by turns. Of the first query 1/4 is A's, of the second all is B's.
void pool(const Query& one, const Query& two, std::uint64_t until,
          std::array<std::atomic<std::uint64_t>, 3>& of_two) {
  auto serve = [&](bool first) {
    for (std::uint64_t end = until / 8; end < until; end += until / 8, first = !first) {
      truth_of = first ? truth.data() : of_two.data();
      if (first) {
        run(one, cases().at("plain"), end);
      } else {
        run(two, [](const Query& q) { q.call("visit", some(kPiece)); }, end);
      }
    }
  };
  std::thread other(serve, false);
  serve(true);
  other.join();
}

std::uint32_t strategy_named(const std::string& name) {
  if (name == "r15") return TAILOR_TAGS_R15;
  if (name == "swiftself") return TAILOR_TAGS_SWIFTSELF;
  return name == "slot" ? TAILOR_TAGS_MEMORY_SLOT : TAILOR_TAGS_NONE;
}

void print(const char* query, const std::array<std::atomic<std::uint64_t>, 3>& ns) {
  std::printf("\"%s\": {\"A\": %lu, \"B\": %lu}", query, ns[kA].load(), ns[kB].load());
}

bool define(tailor::jit::Jit& jit) {
  const std::map<std::string, void*> runtime = {{"rt_burn", reinterpret_cast<void*>(&rt_burn)},
                                                {"rt_nested", reinterpret_cast<void*>(&rt_nested)},
                                                {"rt_callback", reinterpret_cast<void*>(&rt_callback)},
                                                {"rt_throw", reinterpret_cast<void*>(&rt_throw)},
                                                {"rt_catch", reinterpret_cast<void*>(&rt_catch)},
                                                {"rt_recurse", reinterpret_cast<void*>(&rt_recurse)},
                                                {"rt_signals", reinterpret_cast<void*>(&rt_signals)},
                                                {"rt_malloc", reinterpret_cast<void*>(&rt_malloc)},
                                                {"rt_faults", reinterpret_cast<void*>(&rt_faults)}};
  for (const auto& [name, address] : runtime) {
    if (!jit.define(name, address).ok()) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string name = argv[1];
  strategy = strategy_named(argv[2]);
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "hard_cases";
  options.tag_strategy = strategy;
  tailor_agent_start(&options);
  tailor_thread_register("main");
  tailor_agent_barrier(2000);
  std::signal(SIGUSR1, on_signal);
  auto jit = tailor::jit::Jit::create();
  if (!jit.ok() || !define(**jit)) return 1;
  const Query one(**jit, "one"), two(**jit, "two");
  tailor_agent_barrier(2000);
  const std::uint64_t until = cpu_ns() + std::strtoull(argv[3], nullptr, 10) * 1'000'000;
  std::array<std::atomic<std::uint64_t>, 3> of_two{};
  if (name == "fork") {
    fork(one, until);
  } else if (name == "pool") {
    pool(one, two, until, of_two);
  } else if (const auto found = cases().find(name); found != cases().end()) {
    run(one, found->second, until);
  } else {
    return 2;
  }
  std::printf("{");
  print("one", truth);
  std::printf(", ");
  print("two", of_two);
  std::printf("}\n");
  tailor_agent_stop(2000);
  return 0;
}
