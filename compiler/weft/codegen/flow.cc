#include "compiler/weft/codegen/flow.h"

namespace tailor::weft {
namespace {

llvm::BasicBlock* new_block(Compilation& c, const char* name) {
  return llvm::BasicBlock::Create(c.module().context(), name, c.ir().GetInsertBlock()->getParent());
}

llvm::Value* merge(Compilation& c, llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                   llvm::BasicBlock* from_b) {
  llvm::PHINode* phi = c.ir().CreatePHI(a->getType(), 2);
  phi->addIncoming(a, from_a);
  phi->addIncoming(b, from_b);
  return phi;
}

}  // namespace

void emit_if(Compilation& c, llvm::Value* condition, const std::function<void()>& then) {
  llvm::BasicBlock* yes = new_block(c, "then");
  llvm::BasicBlock* next = new_block(c, "next");
  c.ir().CreateCondBr(condition, yes, next);
  c.ir().SetInsertPoint(yes);
  {
    ValueScopes::Scope scope(c.values());
    then();
  }
  c.ir().CreateBr(next);
  c.ir().SetInsertPoint(next);
}

SqlValue emit_choice(Compilation& c, llvm::Value* condition, const std::function<SqlValue()>& then,
                     const std::function<SqlValue()>& otherwise) {
  llvm::BasicBlock* yes = new_block(c, "then");
  llvm::BasicBlock* no = new_block(c, "else");
  llvm::BasicBlock* next = new_block(c, "next");
  c.ir().CreateCondBr(condition, yes, no);
  SqlValue values[2];
  llvm::BasicBlock* ends[2];
  for (int i = 0; i < 2; ++i) {
    c.ir().SetInsertPoint(i == 0 ? yes : no);
    ValueScopes::Scope scope(c.values());
    values[i] = i == 0 ? then() : otherwise();
    ends[i] = c.ir().GetInsertBlock();
    c.ir().CreateBr(next);
  }
  c.ir().SetInsertPoint(next);
  SqlValue out;
  out.data = merge(c, values[0].data, ends[0], values[1].data, ends[1]);
  if (values[0].length != nullptr)
    out.length = merge(c, values[0].length, ends[0], values[1].length, ends[1]);
  if (values[0].null != nullptr || values[1].null != nullptr) {
    llvm::Value* never = c.ir().getFalse();
    out.null = merge(c, values[0].null != nullptr ? values[0].null : never, ends[0],
                     values[1].null != nullptr ? values[1].null : never, ends[1]);
  }
  return out;
}

void emit_for(Compilation& c, llvm::Value* begin, llvm::Value* end,
              const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = c.ir().GetInsertBlock();
  llvm::BasicBlock* loop = new_block(c, "loop");
  llvm::BasicBlock* after = new_block(c, "after");
  c.ir().CreateCondBr(c.ir().CreateICmpULT(begin, end), loop, after);
  c.ir().SetInsertPoint(loop);
  llvm::PHINode* i = c.ir().CreatePHI(begin->getType(), 2, "i");
  i->addIncoming(begin, before);
  {
    ValueScopes::Scope scope(c.values());
    body(i);
  }
  llvm::Value* next = c.ir().CreateNUWAdd(i, c.ir().getInt64(1));
  i->addIncoming(next, c.ir().GetInsertBlock());
  c.ir().CreateCondBr(c.ir().CreateICmpULT(next, end), loop, after);
  c.ir().SetInsertPoint(after);
}

void emit_for_rows(Compilation& c, llvm::Value* begin, llvm::Value* end, std::uint32_t bytes,
                   const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = c.ir().GetInsertBlock();
  llvm::BasicBlock* loop = new_block(c, "rows");
  llvm::BasicBlock* after = new_block(c, "after");
  c.ir().CreateCondBr(c.ir().CreateICmpNE(begin, end), loop, after);
  c.ir().SetInsertPoint(loop);
  llvm::PHINode* row = c.ir().CreatePHI(begin->getType(), 2, "row");
  row->addIncoming(begin, before);
  {
    ValueScopes::Scope scope(c.values());
    body(row);
  }
  llvm::Value* next = c.ir().CreateConstInBoundsGEP1_64(c.ir().getInt8Ty(), row, bytes);
  row->addIncoming(next, c.ir().GetInsertBlock());
  c.ir().CreateCondBr(c.ir().CreateICmpNE(next, end), loop, after);
  c.ir().SetInsertPoint(after);
}

void emit_while(Compilation& c, const std::function<llvm::Value*()>& condition,
                const std::function<void()>& body) {
  llvm::BasicBlock* head = new_block(c, "while");
  llvm::BasicBlock* inside = new_block(c, "body");
  llvm::BasicBlock* after = new_block(c, "after");
  c.ir().CreateBr(head);
  c.ir().SetInsertPoint(head);
  ValueScopes::Scope scope(c.values());
  c.ir().CreateCondBr(condition(), inside, after);
  c.ir().SetInsertPoint(inside);
  body();
  c.ir().CreateBr(head);
  c.ir().SetInsertPoint(after);
}

}  // namespace tailor::weft
