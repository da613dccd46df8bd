#include "tests/support/synthetic_query.h"

#include <random>

namespace tailor::jit {
namespace {

enum Task : ComponentId { kScan = 1, kFilter, kMap, kProbe, kGroup, kSum, kEmit };

class Generator {
 public:
  Generator(QueryModule& module, unsigned seed) : module_(module), b_(module.builder()), random_(seed) {}

  void run(const std::string& name) {
    auto* ptr = b_.getPtrTy();
    auto* i64 = b_.getInt64Ty();
    function_ = module_.begin_function(name, llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64}, false));
    auto scan = module_.tasks().enter(kScan);
    for (int c = 0; c < 8; ++c) context_[c] = load_at(ptr, function_->getArg(0), b_.getInt64(c));
    auto* entry = b_.GetInsertBlock();
    loop_ = block("loop");
    next_ = block("next_tuple");
    auto* done = block("done");
    b_.CreateCondBr(b_.CreateICmpULT(function_->getArg(1), function_->getArg(2)), loop_, done);
    b_.SetInsertPoint(loop_);
    auto* i = b_.CreatePHI(i64, 2, "tuple");
    for (int c = 0; c < 6; ++c) columns_[c] = load_at(i64, context_[c], i);
    filter();
    b_.SetInsertPoint(next_);
    auto* following = b_.CreateAdd(i, b_.getInt64(1));
    b_.CreateCondBr(b_.CreateICmpULT(following, function_->getArg(2)), loop_, done);
    i->addIncoming(function_->getArg(1), entry);
    i->addIncoming(following, next_);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(module_.context(), name, function_);
  }
  llvm::Value* load_at(llvm::Type* type, llvm::Value* base, llvm::Value* index) {
    return b_.CreateLoad(type, b_.CreateInBoundsGEP(type, base, {index}));
  }
  unsigned draw(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }
  llvm::Value* column() { return columns_[draw(6)]; }

  void filter() {
    auto task = module_.tasks().enter(kFilter);
    for (unsigned i = 0; i < 2 + draw(3); ++i) {
      auto* pass = block("pass");
      auto* test = b_.CreateICmpSGT(column(), draw(2) != 0 ? column() : b_.getInt64(100 + draw(1000)));
      b_.CreateCondBr(test, pass, next_);
      b_.SetInsertPoint(pass);
    }
    map();
  }

  llvm::Value* expression(int depth) {
    if (depth == 0) return draw(3) != 0 ? column() : b_.getInt64(1 + draw(64));
    llvm::Value* left = expression(depth - 1);
    llvm::Value* right = expression(depth - 1);
    switch (draw(8)) {
      case 0:
        return b_.CreateSub(left, right);
      case 1:
        return b_.CreateMul(left, right);
      case 2:
        return b_.CreateAnd(left, right);
      case 3:
        return b_.CreateSelect(b_.CreateICmpSLT(left, right), left, right);
      case 4:
        return b_.CreateSDiv(left, b_.CreateOr(right, b_.getInt64(1)));
      case 5:
        return b_.CreateXor(left, b_.CreateLShr(right, 7));
      default:
        return b_.CreateAdd(left, right);
    }
  }

  void map() {
    auto task = module_.tasks().enter(kMap);
    for (auto& value : mapped_) value = expression(2 + static_cast<int>(draw(2)));
    probe();
  }

  llvm::Value* hash(llvm::Value* key) {
    llvm::Value* h = b_.CreateMul(key, b_.getInt64(0x9E3779B97F4A7C15));
    return b_.CreateXor(h, b_.CreateLShr(h, 32));
  }

  void probe() {
    auto task = module_.tasks().enter(kProbe);
    auto* ptr = b_.getPtrTy();
    auto* i64 = b_.getInt64Ty();
    llvm::Value* key = column();
    llvm::Value* first = load_at(ptr, context_[6], b_.CreateAnd(hash(key), b_.getInt64(1023)));
    auto* before = b_.GetInsertBlock();
    auto* chain = block("chain");
    auto* compare = block("compare");
    auto* miss = block("miss");
    auto* match = block("match");
    b_.CreateBr(chain);
    b_.SetInsertPoint(chain);
    auto* entry = b_.CreatePHI(ptr, 2, "entry");
    b_.CreateCondBr(b_.CreateIsNull(entry), next_, compare);
    b_.SetInsertPoint(compare);
    b_.CreateCondBr(b_.CreateICmpEQ(load_at(i64, entry, b_.getInt64(1)), key), match, miss);
    b_.SetInsertPoint(miss);
    llvm::Value* following = load_at(ptr, entry, b_.getInt64(0));
    b_.CreateBr(chain);
    entry->addIncoming(first, before);
    entry->addIncoming(following, miss);
    b_.SetInsertPoint(match);
    joined_ = load_at(i64, entry, b_.getInt64(2));
    group();
  }

  void group() {
    auto task = module_.tasks().enter(kGroup);
    auto* ptr = b_.getPtrTy();
    auto group = module_.declare_shared("synthetic_group",
                                        llvm::FunctionType::get(ptr, {ptr, b_.getInt64Ty()}, false));
    llvm::Value* key = b_.CreateAnd(b_.CreateAdd(hash(joined_), column()), b_.getInt64(255));
    sum(module_.call_shared(group, {context_[7], key}));
  }

  void sum(llvm::Value* aggregates) {
    auto task = module_.tasks().enter(kSum);
    auto* i64 = b_.getInt64Ty();
    llvm::Value* total = nullptr;
    for (unsigned i = 0; i < 4; ++i) {
      llvm::Value* place = b_.CreateInBoundsGEP(i64, aggregates, {b_.getInt64(i)});
      llvm::Value* old = b_.CreateLoad(i64, place);
      total = i == 3 ? b_.CreateSelect(b_.CreateICmpSGT(old, joined_), old, joined_)
                     : b_.CreateAdd(old, i == 0 ? b_.getInt64(1) : b_.CreateMul(mapped_[i - 1], joined_));
      b_.CreateStore(total, place);
    }
    emit(total);
  }

  void emit(llvm::Value* total) {
    auto task = module_.tasks().enter(kEmit);
    auto* i64 = b_.getInt64Ty();
    auto* emit = block("emit");
    b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(total, b_.getInt64(511)), b_.getInt64(7)), emit, next_);
    b_.SetInsertPoint(emit);
    auto out =
        module_.declare_shared("synthetic_emit", llvm::FunctionType::get(b_.getVoidTy(), {i64, i64}, false));
    module_.call_shared(out, {total, mapped_[0]});
    b_.CreateBr(next_);
  }

  QueryModule& module_;
  TrackedBuilder& b_;
  std::mt19937 random_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *loop_ = nullptr, *next_ = nullptr;
  llvm::Value* context_[8] = {};
  llvm::Value* columns_[6] = {};
  llvm::Value* mapped_[3] = {};
  llvm::Value* joined_ = nullptr;
};

}  // namespace

void add_synthetic_plan(tagging::DictionaryBuilder& plan) {
  const ComponentId operators[] = {1, 2, 3, 4, 5, 5, 6};
  for (const char* name : {"scan", "filter", "map", "join", "aggregate", "output"})
    plan.add(0, {.name = name});
  for (int i = 0; i < 7; ++i) plan.add(1, {.name = kSyntheticTasks[i]}, {&operators[i], 1});
}

void build_synthetic_query(QueryModule& module, const std::string& name, unsigned seed) {
  Generator(module, seed).run(name);
}

SyntheticData::SyntheticData(std::size_t tuples) {
  std::mt19937_64 random(tuples);
  std::uniform_int_distribution<std::int64_t> value(0, 1200);
  for (auto& column : columns_) {
    column.resize(tuples);
    for (auto& element : column) element = value(random);
  }
  entries_.reserve(600);
  for (std::int64_t key = 0; key < 1200; key += 2) {
    std::uint64_t hash = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
    entries_.push_back({directory_[hash & 1023], key, value(random)});
    directory_[hash & 1023] = &entries_.back();
  }
  for (int i = 0; i < 6; ++i) context_[i] = columns_[i].data();
  context_[6] = directory_;
  context_[7] = groups_;
}

}  // namespace tailor::jit
