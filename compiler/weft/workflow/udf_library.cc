#include "compiler/weft/workflow/udf_library.h"

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace tailor::weft::workflow {
namespace {

constexpr std::size_t kMostImage = std::size_t{64} << 20;

// What LLVM 19 does not know, and newer ones write often.
constexpr std::array<std::string_view, 6> kNewerWords = {
    "captures(", "initializes(", "samesign ", "getelementptr nuw", "inbounds nuw ", "dead_on_return"};

// While it lives, LLVM's complaints about an image are for nobody: an error would end the process.
class QuietContext {
 public:
  explicit QuietContext(llvm::LLVMContext& context)
      : context_(context),
        handler_(context.getDiagnosticHandlerCallBack()),
        handler_context_(context.getDiagnosticContext()) {
    context.setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo*, void*) {});
  }
  ~QuietContext() { context_.setDiagnosticHandlerCallBack(handler_, handler_context_); }
  QuietContext(const QuietContext&) = delete;
  QuietContext& operator=(const QuietContext&) = delete;

 private:
  llvm::LLVMContext& context_;
  llvm::DiagnosticHandler::DiagnosticHandlerTy handler_;
  void* handler_context_;
};

bool is_bitcode(const std::string& bytes) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  return llvm::isBitcode(begin, begin + bytes.size());
}

// "19.1.7" in "LLVM19.1.7" or "clang version 19.1.7 (...)".
std::string version_in(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  return std::string(text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size())));
}

bool is_newer(const std::string& version) {
  unsigned major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major > LLVM_VERSION_MAJOR;
}

Error newer_error(const std::string& what) {
  return invalid(
      fmt::format("{}. weft reads the IR of LLVM {} and older: compile the functions with clang {}, or with "
                  "a front end on that LLVM (numba 0.61 to 0.63)",
                  what, LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR));
}

Error unreadable(const UdfImage& image, std::string_view version, const std::string& problem) {
  if (is_newer(std::string(version)))
    return newer_error(fmt::format("{} is IR of LLVM {}", image.name, version));
  for (std::string_view word : kNewerWords) {
    if (is_bitcode(image.bytes) || image.bytes.find(word) == std::string::npos) continue;
    return newer_error(
        fmt::format("{} seems to be IR of an LLVM newer than {}: it has \"{}\", and LLVM {} says: {}",
                    image.name, LLVM_VERSION_MAJOR, word, LLVM_VERSION_MAJOR, problem));
  }
  return invalid(fmt::format("{} cannot be read as LLVM IR: {}", image.name, problem));
}

Result<std::unique_ptr<llvm::Module>> read_image(const UdfImage& image, llvm::LLVMContext& context) {
  const std::string version = image_version(image.bytes);
  if (image.bytes.size() > kMostImage)
    return exhausted(fmt::format("{} has more than {} MiB", image.name, kMostImage >> 20));
  // Before LLVM tries: some of what is newer is read without a word, and understood wrongly.
  if (is_newer(version)) return unreadable(image, version, "");
  const llvm::MemoryBufferRef buffer(image.bytes, image.name);
  if (is_bitcode(image.bytes)) {
    auto module = llvm::parseBitcodeFile(buffer, context);
    if (!module) return unreadable(image, version, llvm::toString(module.takeError()));
    return std::move(*module);
  }
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly(buffer, problem, context);
  if (module == nullptr) {
    return unreadable(image, version,
                      fmt::format("line {}: {}", problem.getLineNo(), problem.getMessage().str()));
  }
  return module;
}

// Code of other machines has other sizes of types.
bool fits_machine(const llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  if (!layout.isDefault() && (layout.getPointerSize() != 8 || layout.isBigEndian())) return false;
  const std::string& triple = module.getTargetTriple();
  return triple.empty() || triple.starts_with("x86_64");
}

}  // namespace

std::string image_version(const std::string& bytes) {
  if (is_bitcode(bytes)) {
    auto producer = llvm::getBitcodeProducerString(llvm::MemoryBufferRef(bytes, "image"));
    if (!producer) {
      llvm::consumeError(producer.takeError());
      return {};
    }
    return producer->starts_with("LLVM") ? version_in(*producer) : std::string();
  }
  constexpr std::string_view kClang = "clang version ";
  const std::size_t ident = bytes.find("!llvm.ident");
  const std::size_t begin = bytes.find(kClang, ident == std::string::npos ? bytes.size() : ident);
  if (begin == std::string::npos) return {};
  return version_in(std::string_view(bytes).substr(begin + kClang.size(), 32));
}

Result<UdfLibrary> UdfLibrary::load(const std::string& workflow_file, std::span<const UdfImage> images,
                                    llvm::LLVMContext& context) {
  const QuietContext quiet(context);
  UdfLibrary library;
  for (const UdfImage& image : images) {
    auto module = read_image(image, context);
    if (!module.ok()) return error_at(workflow_file, image.place, module.error().message);
    (*module)->setModuleIdentifier(image.name);
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(**module, &stream)) {
      return error_at(workflow_file, image.place,
                      fmt::format("{} is no valid LLVM IR: {}", image.name, stream.str()));
    }
    if (!fits_machine(**module)) {
      return error_at(
          workflow_file, image.place,
          fmt::format("{} is for another machine than x86-64: {}", image.name, (*module)->getTargetTriple()));
    }
    for (const llvm::Function& function : **module) {
      if (function.isDeclaration() || !function.hasExternalLinkage()) continue;
      const llvm::Function* other = library.find(function.getName());
      if (other == nullptr) continue;
      return error_at(workflow_file, image.place,
                      fmt::format("{} and {} both define {}", other->getParent()->getModuleIdentifier(),
                                  image.name, function.getName().str()));
    }
    library.modules_.push_back(std::move(*module));
  }
  return library;
}

llvm::Function* UdfLibrary::find(llvm::StringRef name) const {
  for (const auto& module : modules_) {
    llvm::Function* function = module->getFunction(name);
    if (function != nullptr && !function->isDeclaration() && !function->hasLocalLinkage()) return function;
  }
  return nullptr;
}

llvm::Function* UdfLibrary::definition(llvm::Function& callee) const {
  return callee.isDeclaration() ? find(callee.getName()) : &callee;
}

std::string UdfLibrary::hint(const std::string& name) const {
  const std::string mangled = fmt::format("{}{}", name.size(), name);
  for (const auto& module : modules_) {
    for (const llvm::Function& function : *module) {
      if (function.isDeclaration() || !function.getName().contains(mangled)) continue;
      const std::string full = function.getName().str();
      if (full.starts_with("_Z"))
        return fmt::format("; {} has {}: write extern \"C\" before it", module->getModuleIdentifier(),
                           llvm::demangle(full));
    }
  }
  return {};
}

void UdfLibrary::prepare() {
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager analyses;
  builder.registerModuleAnalyses(analyses);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, analyses);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  for (const auto& module : modules_) {
    llvm::StripDebugInfo(*module);
    for (llvm::Function& function : *module) {
      if (function.isDeclaration()) continue;
      function.removeFnAttr(llvm::Attribute::OptimizeNone);
      function.removeFnAttr(llvm::Attribute::NoInline);
      passes.run(function, functions);
    }
  }
}

}  // namespace tailor::weft::workflow
