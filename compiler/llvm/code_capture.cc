#include "compiler/llvm/code_capture.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>

#include <algorithm>

#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/object_compiler.h"

namespace tailor::jit {
namespace {

namespace jitlink = llvm::jitlink;

// The bytes of a section as they will stand in memory.
std::string bytes_of(jitlink::Section& section, std::uint64_t& address) {
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

// The section that holds code; null if none does.
jitlink::Section* code_section(jitlink::LinkGraph& graph) {
  for (jitlink::Section& section : graph.sections()) {
    if (is_code_section(section.getName()) && section.blocks_size() > 0) return &section;
  }
  return nullptr;
}

}  // namespace

void capture_code(jitlink::LinkGraph& graph, LoadedCode& out) {
  if (jitlink::Section* text = code_section(graph); text != nullptr) {
    out.code = bytes_of(*text, out.base);
    for (const jitlink::Symbol* symbol : text->symbols()) {
      if (!symbol->hasName() || !symbol->isCallable()) continue;
      out.functions.push_back({name_of(*symbol),
                               static_cast<std::uint32_t>(symbol->getAddress().getValue() - out.base),
                               static_cast<std::uint32_t>(symbol->getSize())});
    }
    std::sort(out.functions.begin(), out.functions.end(),
              [](const FunctionRange& a, const FunctionRange& b) { return a.offset < b.offset; });
  }
  for (const jitlink::Symbol* symbol : graph.external_symbols()) {
    if (symbol->hasName()) out.imports.push_back({name_of(*symbol)});
  }
  std::sort(out.imports.begin(), out.imports.end(),
            [](const Import& a, const Import& b) { return a.name < b.name; });
  // LLVM's name of it, on all machines.
  if (auto* stubs = graph.findSectionByName("$__STUBS"); stubs != nullptr && stubs->blocks_size() > 0) {
    const jitlink::SectionRange range(*stubs);
    out.stubs.push_back({range.getStart().getValue(), range.getSize()});
  }
  if (auto* frames = graph.findSectionByName(".eh_frame"); frames != nullptr && frames->blocks_size() > 0) {
    out.eh_frame = bytes_of(*frames, out.eh_frame_address);
  }
}

void CodeCapture::expect(const llvm::orc::JITDylib& library, LoadedCode& out) {
  std::lock_guard lock(mutex_);
  expected_[&library] = &out;
}

void CodeCapture::forget(const llvm::orc::JITDylib& library) {
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
    capture_code(graph, *out);
    return llvm::Error::success();
  });
}

}  // namespace tailor::jit
