#include "compiler/llvm/code_capture.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>

#include <algorithm>

namespace tailor::jit {
namespace {

namespace jitlink = llvm::jitlink;

// The bytes of a section as they will stand in memory.
std::string BytesOf(jitlink::Section& section, std::uint64_t& address) {
  jitlink::SectionRange range(section);
  address = range.getStart().getValue();
  std::string bytes(range.getSize(), '\0');
  for (const jitlink::Block* block : section.blocks()) {
    if (block->isZeroFill()) continue;
    auto content = block->getContent();
    std::copy(content.begin(), content.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(block->getAddress().getValue() - address));
  }
  return bytes;
}

void Capture(jitlink::LinkGraph& graph, LoadedCode& out) {
  if (auto* text = graph.findSectionByName(".text"); text != nullptr && text->blocks_size() > 0) {
    out.code = BytesOf(*text, out.base);
    for (const jitlink::Symbol* symbol : text->symbols()) {
      if (!symbol->hasName() || !symbol->isCallable()) continue;
      out.functions.push_back({symbol->getName().str(),
                               static_cast<std::uint32_t>(symbol->getAddress().getValue() - out.base),
                               static_cast<std::uint32_t>(symbol->getSize())});
    }
    std::sort(out.functions.begin(), out.functions.end(),
              [](const FunctionRange& a, const FunctionRange& b) { return a.offset < b.offset; });
  }
  for (const jitlink::Symbol* symbol : graph.external_symbols()) {
    if (symbol->hasName()) out.imports.push_back({symbol->getName().str()});
  }
  std::sort(out.imports.begin(), out.imports.end(),
            [](const Import& a, const Import& b) { return a.name < b.name; });
  if (auto* frames = graph.findSectionByName(".eh_frame"); frames != nullptr && frames->blocks_size() > 0) {
    out.eh_frame = BytesOf(*frames, out.eh_frame_address);
  }
}

}  // namespace

void CodeCapture::Expect(const llvm::orc::JITDylib& library, LoadedCode& out) {
  std::lock_guard lock(mutex_);
  expected_[&library] = &out;
}

void CodeCapture::Forget(const llvm::orc::JITDylib& library) {
  std::lock_guard lock(mutex_);
  expected_.erase(&library);
}

void CodeCapture::modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                                   jitlink::LinkGraph&, jitlink::PassConfiguration& config) {
  LoadedCode* out = nullptr;
  {
    std::lock_guard lock(mutex_);
    out = expected_.lookup(&responsibility.getTargetJITDylib());
  }
  if (out == nullptr) return;
  config.PostFixupPasses.push_back([out](jitlink::LinkGraph& graph) {
    Capture(graph, *out);
    return llvm::Error::success();
  });
}

}  // namespace tailor::jit
