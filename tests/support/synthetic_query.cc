#include "tests/support/synthetic_query.h"

#include <random>

namespace tailor::jit {
namespace {

enum Task : ComponentId { kScan = 1, kFilter, kMap, kProbe, kGroup, kSum, kEmit };

class Generator {
 public:
  Generator(QueryModule& module, unsigned seed) : module_(module), b_(module.builder()), random_(seed) {}

  void Run(const std::string& name) {
    auto* ptr = b_.getPtrTy();
    auto* i64 = b_.getInt64Ty();
    function_ = module_.BeginFunction(name, llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64}, false));
    auto scan = module_.tasks().Enter(kScan);
    for (int c = 0; c < 8; ++c) context_[c] = LoadAt(ptr, function_->getArg(0), b_.getInt64(c));
    auto* entry = b_.GetInsertBlock();
    loop_ = Block("loop");
    next_ = Block("next_tuple");
    auto* done = Block("done");
    b_.CreateCondBr(b_.CreateICmpULT(function_->getArg(1), function_->getArg(2)), loop_, done);
    b_.SetInsertPoint(loop_);
    auto* i = b_.CreatePHI(i64, 2, "tuple");
    for (int c = 0; c < 6; ++c) columns_[c] = LoadAt(i64, context_[c], i);
    Filter();
    b_.SetInsertPoint(next_);
    auto* following = b_.CreateAdd(i, b_.getInt64(1));
    b_.CreateCondBr(b_.CreateICmpULT(following, function_->getArg(2)), loop_, done);
    i->addIncoming(function_->getArg(1), entry);
    i->addIncoming(following, next_);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* Block(const char* name) {
    return llvm::BasicBlock::Create(module_.context(), name, function_);
  }
  llvm::Value* LoadAt(llvm::Type* type, llvm::Value* base, llvm::Value* index) {
    return b_.CreateLoad(type, b_.CreateInBoundsGEP(type, base, {index}));
  }
  unsigned Draw(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }
  llvm::Value* Column() { return columns_[Draw(6)]; }

  void Filter() {
    auto task = module_.tasks().Enter(kFilter);
    for (unsigned i = 0; i < 2 + Draw(3); ++i) {
      auto* pass = Block("pass");
      auto* test = b_.CreateICmpSGT(Column(), Draw(2) != 0 ? Column() : b_.getInt64(100 + Draw(1000)));
      b_.CreateCondBr(test, pass, next_);
      b_.SetInsertPoint(pass);
    }
    Map();
  }

  llvm::Value* Expression(int depth) {
    if (depth == 0) return Draw(3) != 0 ? Column() : b_.getInt64(1 + Draw(64));
    llvm::Value* left = Expression(depth - 1);
    llvm::Value* right = Expression(depth - 1);
    switch (Draw(8)) {
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

  void Map() {
    auto task = module_.tasks().Enter(kMap);
    for (auto& value : mapped_) value = Expression(2 + static_cast<int>(Draw(2)));
    Probe();
  }

  llvm::Value* Hash(llvm::Value* key) {
    llvm::Value* h = b_.CreateMul(key, b_.getInt64(0x9E3779B97F4A7C15));
    return b_.CreateXor(h, b_.CreateLShr(h, 32));
  }

  void Probe() {
    auto task = module_.tasks().Enter(kProbe);
    auto* ptr = b_.getPtrTy();
    auto* i64 = b_.getInt64Ty();
    llvm::Value* key = Column();
    llvm::Value* first = LoadAt(ptr, context_[6], b_.CreateAnd(Hash(key), b_.getInt64(1023)));
    auto* before = b_.GetInsertBlock();
    auto* chain = Block("chain");
    auto* compare = Block("compare");
    auto* miss = Block("miss");
    auto* match = Block("match");
    b_.CreateBr(chain);
    b_.SetInsertPoint(chain);
    auto* entry = b_.CreatePHI(ptr, 2, "entry");
    b_.CreateCondBr(b_.CreateIsNull(entry), next_, compare);
    b_.SetInsertPoint(compare);
    b_.CreateCondBr(b_.CreateICmpEQ(LoadAt(i64, entry, b_.getInt64(1)), key), match, miss);
    b_.SetInsertPoint(miss);
    llvm::Value* following = LoadAt(ptr, entry, b_.getInt64(0));
    b_.CreateBr(chain);
    entry->addIncoming(first, before);
    entry->addIncoming(following, miss);
    b_.SetInsertPoint(match);
    joined_ = LoadAt(i64, entry, b_.getInt64(2));
    Group();
  }

  void Group() {
    auto task = module_.tasks().Enter(kGroup);
    auto* ptr = b_.getPtrTy();
    auto group =
        module_.DeclareShared("synthetic_group", llvm::FunctionType::get(ptr, {ptr, b_.getInt64Ty()}, false));
    llvm::Value* key = b_.CreateAnd(b_.CreateAdd(Hash(joined_), Column()), b_.getInt64(255));
    Sum(module_.CallShared(group, {context_[7], key}));
  }

  void Sum(llvm::Value* aggregates) {
    auto task = module_.tasks().Enter(kSum);
    auto* i64 = b_.getInt64Ty();
    llvm::Value* total = nullptr;
    for (unsigned i = 0; i < 4; ++i) {
      llvm::Value* place = b_.CreateInBoundsGEP(i64, aggregates, {b_.getInt64(i)});
      llvm::Value* old = b_.CreateLoad(i64, place);
      total = i == 3 ? b_.CreateSelect(b_.CreateICmpSGT(old, joined_), old, joined_)
                     : b_.CreateAdd(old, i == 0 ? b_.getInt64(1) : b_.CreateMul(mapped_[i - 1], joined_));
      b_.CreateStore(total, place);
    }
    Emit(total);
  }

  void Emit(llvm::Value* total) {
    auto task = module_.tasks().Enter(kEmit);
    auto* i64 = b_.getInt64Ty();
    auto* emit = Block("emit");
    b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(total, b_.getInt64(511)), b_.getInt64(7)), emit, next_);
    b_.SetInsertPoint(emit);
    auto out =
        module_.DeclareShared("synthetic_emit", llvm::FunctionType::get(b_.getVoidTy(), {i64, i64}, false));
    module_.CallShared(out, {total, mapped_[0]});
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

void AddSyntheticPlan(tagging::DictionaryBuilder& plan) {
  const ComponentId operators[] = {1, 2, 3, 4, 5, 5, 6};
  for (const char* name : {"scan", "filter", "map", "join", "aggregate", "output"})
    plan.Add(0, {.name = name});
  for (int i = 0; i < 7; ++i) plan.Add(1, {.name = kSyntheticTasks[i]}, {&operators[i], 1});
}

void BuildSyntheticQuery(QueryModule& module, const std::string& name, unsigned seed) {
  Generator(module, seed).Run(name);
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
