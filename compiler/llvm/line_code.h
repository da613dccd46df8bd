// How links travel through LLVM: in the line and column of debug locations.
//
// LLVM carries a location along when it moves, clones or selects an instruction, so the line is the number of
// the IR component. A line from kFirstSetLine on names a set of components. Column 1 marks a location that
// was repaired and not recorded. No debug information is ever emitted from these locations.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Module.h>

#include "compiler/tagging/link.h"

namespace tailor::jit {

inline constexpr unsigned kFirstSetLine = 1u << 30;
inline constexpr unsigned kRepairedColumn = 1;

struct Lineage {
  tagging::Link link;
  bool repaired = false;
};

inline Lineage lineage_of(const llvm::DebugLoc& location) {
  if (!location || location.getLine() == 0) return {};
  unsigned line = location.getLine();
  return {line >= kFirstSetLine ? tagging::Link::set(line - kFirstSetLine) : tagging::Link::one(line),
          location.getCol() == kRepairedColumn};
}

inline unsigned line_of(tagging::Link link) {
  return link.index() + (link.is_set() ? kFirstSetLine : 0);
}

inline llvm::DebugLoc location_of(Lineage lineage, llvm::DILocalScope* scope, llvm::DILocation* inlined_at) {
  if (lineage.link.none()) return llvm::DebugLoc();
  return llvm::DILocation::get(scope->getContext(), line_of(lineage.link),
                               lineage.repaired ? kRepairedColumn : 0, scope, inlined_at);
}

// The scope of all locations of a sealed module.
inline constexpr const char* kScopeMetadata = "tailor.scope";

inline llvm::DILocalScope* scope_of(const llvm::Module& module) {
  return llvm::cast<llvm::DILocalScope>(module.getNamedMetadata(kScopeMetadata)->getOperand(0));
}

}  // namespace tailor::jit
