#include "compiler/llvm/object_compiler.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/AsmPrinterHandler.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>

#include <utility>

#include "compiler/llvm/fused_owners_pass.h"
#include "compiler/llvm/line_code.h"
#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/row_pass.h"
#include "compiler/llvm/stopwatch.h"
#include "compiler/llvm/tag_register_pass.h"
#include "proto/base/errors.h"

namespace tailor::jit {
namespace {

// The tag of a call that instruction selection inserted: that of the first owner of the IR it came from.
std::uint64_t tag_of_inserted_call(const SealedModule::State& sealed, const tagging::LinkPool& sets,
                                   const llvm::MachineInstr& call) {
  tagging::Link link = lineage_of(call.getDebugLoc()).link;
  if (link.none()) return 0;
  ComponentId id = link.is_set() ? sets.sets().at(link.index()).front() : link.index();
  std::size_t index = id - sealed.first;
  return index < sealed.component_tags.size() ? sealed.component_tags[index] : 0;
}

bool has_tag_register(TagStrategy tags) {
  return tags == TagStrategy::kR15 || tags == TagStrategy::kSwiftSelf;
}

// Reads the offsets that RowEmitter wrote and joins them with the owners that were kept here.
Result<tagging::RowTableBuilder> read_rows(llvm::MemoryBufferRef object, const ModuleLineage& lineage) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) return internal("cannot read the object just written: " + llvm::toString(file.takeError()));
  llvm::StringRef offsets;
  bool has_code = false;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    auto name = section.getName();
    auto contents = section.getContents();
    if (!name || !contents) return internal("the object just written has an unreadable section");
    if (*name == kRowSection) offsets = *contents;
    if (!section.isText() || section.getSize() == 0) continue;
    if (!is_code_section(*name)) return internal("code outside .text: " + name->str());
    if (std::exchange(has_code, true)) return internal("code in .text and .ltext");
  }
  tagging::RowTableBuilder rows;
  std::size_t at = 0;
  std::uint32_t base = 0;
  for (const NativeMark& mark : lineage.marks) {
    if (!mark.from_base) {
      if (at + 4 > offsets.size()) return internal("the row section is too short");
      base = llvm::support::endian::read32le(offsets.data() + at);
      at += 4;
    }
    rows.add(base + mark.from_base.value_or(0), mark.owner.link, lineage.sets, mark.owner.flag);
  }
  return rows;
}

}  // namespace

Result<CompiledObject> compile_object(SealedModule::State& sealed, llvm::TargetMachine& target,
                                      ModuleLineage& lineage) {
  auto& llvm_target = static_cast<TargetMachineImpl&>(target);
  llvm::legacy::PassManager passes;
  add_runtime_functions(passes, target);
  auto* machine_info = new llvm::MachineModuleInfoWrapperPass(&llvm_target);
  llvm::TargetPassConfig* config = llvm_target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(machine_info);
  CompiledObject out;
  if (has_tag_register(sealed.tags)) {
    auto tag_of = [&](const llvm::MachineInstr& call) {
      return tag_of_inserted_call(sealed, lineage.sets, call);
    };
    config->insertPass(&llvm::FinalizeISelID,
                       create_tag_register_pass(sealed.tags, sealed.tag_sections, tag_of, out.untagged));
  }
  if (sealed.lineage) config->insertPass(&llvm::FinalizeISelID, create_fused_owners_pass(lineage));
  if (config->addISelPasses()) return internal("this target has no instruction selection");
  config->addMachinePasses();
  if (sealed.lineage) passes.add(create_row_pass(lineage));
  config->setInitialized();

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  auto streamer =
      llvm_target.createMCStreamer(stream, nullptr, kObjectFile, machine_info->getMMI().getContext());
  if (!streamer) return internal("cannot emit objects: " + llvm::toString(streamer.takeError()));
  auto* printer =
      static_cast<llvm::AsmPrinter*>(target.getTarget().createAsmPrinter(target, std::move(*streamer)));
  if (printer == nullptr) return internal("this target has no assembly printer");
  if (sealed.lineage) add_handler(*printer, create_row_emitter(*printer, lineage));
  passes.add(printer);
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(*sealed.module);

  out.object = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), sealed.module->getName(),
                                                               /*RequiresNullTerminator=*/false);
  TickAdd time(lineage.ticks);
  auto rows = read_rows(out.object->getMemBufferRef(), lineage);
  if (!rows) return rows.error();
  out.rows = std::move(*rows);
  return out;
}

}  // namespace tailor::jit
