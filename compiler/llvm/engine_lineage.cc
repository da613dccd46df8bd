#include "compiler/llvm/engine_lineage.h"

#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/SymbolSize.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/llvm/code_capture.h"
#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/object_compiler.h"

namespace tailor::jit {

namespace orc = llvm::orc;

// What is known of an object before it is linked.
struct ExpectedObject {
  PlanId plan = 0;
  tailor::v1::RowTable rows;
};

struct EngineLineage::State {
  struct Added {
    std::shared_ptr<EngineModule> lineage;
    PlanId plan;
  };

  explicit State(EngineEvents all) : events(std::move(all)) {}

  // Takes the module that is to be compiled out of those that were added.
  std::optional<Added> take(const llvm::Module& module) {
    std::lock_guard lock(mutex);
    const auto found = std::find_if(added.begin(), added.end(),
                                    [&](const Added& each) { return each.lineage->is_of(module); });
    if (found == added.end()) return std::nullopt;
    Added taken = std::move(*found);
    added.erase(found);
    return taken;
  }
  std::optional<ExpectedObject> take(const std::string& name) {
    std::lock_guard lock(mutex);
    const auto found = expected.find(name);
    if (found == expected.end()) return std::nullopt;
    ExpectedObject taken = std::move(found->second);
    expected.erase(found);
    return taken;
  }
  CodeId announce(const std::string& name, ExpectedObject object, LoadedCode loaded) const {
    return events.loaded({name, object.plan, std::move(loaded), std::move(object.rows)});
  }
  void remove(CodeId code) const {
    if (events.removed) events.removed(code);
  }

  const EngineEvents events;
  std::mutex mutex;
  std::vector<Added> added;                        // to be compiled
  std::map<std::string, ExpectedObject> expected;  // to be linked, by name
};

// In place of orc::ConcurrentIRCompiler.
class EngineLineage::Compiler final : public orc::IRCompileLayer::IRCompiler {
 public:
  Compiler(std::shared_ptr<State> state, orc::JITTargetMachineBuilder target)
      : IRCompiler(orc::irManglingOptionsFromTargetOptions(target.getOptions())),
        state_(std::move(state)),
        builder_(std::move(target)) {}

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module& module) override {
    auto target = take_target();
    if (!target) return target.takeError();
    auto object = compile(module, **target);
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(*target));
    return object;
  }

 private:
  using TargetMachine = std::unique_ptr<llvm::TargetMachine>;

  // A target machine is dear to make, and compiles one module at a time.
  llvm::Expected<TargetMachine> take_target() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return builder_.createTargetMachine();
    TargetMachine target = std::move(free_.back());
    free_.pop_back();
    return target;
  }

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> compile(llvm::Module& module,
                                                              llvm::TargetMachine& target) {
    const auto added = state_->take(module);
    if (!added) return orc::SimpleCompiler(target)(module);
    auto emitted = added->lineage->emit(target);
    auto rows = emitted ? lineage_of(*emitted->object, emitted->lineage) : emitted.error();
    if (!rows) return llvm::createStringError(llvm::inconvertibleErrorCode(), rows.error().message.c_str());
    if (state_->events.compiled) state_->events.compiled(*emitted);
    std::lock_guard lock(state_->mutex);
    state_->expected[emitted->object->getBufferIdentifier().str()] = {added->plan, std::move(*rows)};
    return std::move(emitted->object);
  }

  std::shared_ptr<State> state_;
  std::mutex mutex_;
  orc::JITTargetMachineBuilder builder_;
  std::vector<TargetMachine> free_;
};

class EngineLineage::Plugin final : public orc::ObjectLinkingLayer::Plugin {
 public:
  explicit Plugin(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void modifyPassConfig(orc::MaterializationResponsibility& responsibility, llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& config) override {
    auto object = state_->take(graph.getName());
    if (!object) return;
    config.PostFixupPasses.push_back(
        [this, &responsibility, object = std::move(*object)](llvm::jitlink::LinkGraph& linked) {
          LoadedCode loaded;
          capture_code(linked, loaded);
          const CodeId code = state_->announce(linked.getName(), object, std::move(loaded));
          std::lock_guard lock(mutex_);
          linking_[&responsibility] = code;
          return llvm::Error::success();
        });
  }

  llvm::Error notifyEmitted(orc::MaterializationResponsibility& responsibility) override {
    const auto code = take_linking(responsibility);
    if (!code) return llvm::Error::success();
    return responsibility.withResourceKeyDo([&](orc::ResourceKey key) {
      std::lock_guard lock(mutex_);
      loaded_[key].push_back(*code);
    });
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility& responsibility) override {
    if (const auto code = take_linking(responsibility)) state_->remove(*code);
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey key) override {
    for (const CodeId code : take_loaded(key)) state_->remove(code);
    return llvm::Error::success();
  }
  void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey to, orc::ResourceKey from) override {
    const std::vector<CodeId> codes = take_loaded(from);
    std::lock_guard lock(mutex_);
    loaded_[to].insert(loaded_[to].end(), codes.begin(), codes.end());
  }

 private:
  std::optional<CodeId> take_linking(const orc::MaterializationResponsibility& responsibility) {
    std::lock_guard lock(mutex_);
    const auto found = linking_.find(&responsibility);
    if (found == linking_.end()) return std::nullopt;
    const CodeId code = found->second;
    linking_.erase(found);
    return code;
  }
  std::vector<CodeId> take_loaded(orc::ResourceKey key) {
    std::lock_guard lock(mutex_);
    const auto found = loaded_.find(key);
    if (found == loaded_.end()) return {};
    std::vector<CodeId> codes = std::move(found->second);
    loaded_.erase(found);
    return codes;
  }

  std::shared_ptr<State> state_;
  std::mutex mutex_;
  std::map<const orc::MaterializationResponsibility*, CodeId> linking_;
  std::map<orc::ResourceKey, std::vector<CodeId>> loaded_;
};

// What RuntimeDyld tells of its objects. `relocated`: it tells when their bytes are final.
class EngineLineage::RuntimeDyldListener final : public llvm::JITEventListener {
 public:
  RuntimeDyldListener(std::shared_ptr<State> state, bool relocated)
      : state_(std::move(state)), relocated_(relocated) {}

  void notifyObjectLoaded(ObjectKey key, const llvm::object::ObjectFile& file,
                          const llvm::RuntimeDyld::LoadedObjectInfo& info) override {
    auto object = state_->take(file.getFileName().str());
    if (!object) return;
    Placed placed{key, file.getFileName().str(), std::move(*object), functions_of(file)};
    for (const llvm::object::SectionRef& section : file.sections()) {
      auto name = section.getName();
      if (!name) {
        llvm::consumeError(name.takeError());
        continue;
      }
      const Range range{info.getSectionLoadAddress(section), section.getSize()};
      if (is_code_section(*name) && range.size > 0) placed.text = range;
      if (*name == ".eh_frame") placed.frames = range;
    }
    {
      std::lock_guard lock(mutex_);
      placed_.push_back(std::move(placed));
    }
    if (relocated_) announce();
  }

  void notifyFreeingObject(ObjectKey key) override {
    std::vector<CodeId> codes;
    {
      std::lock_guard lock(mutex_);
      std::erase_if(placed_, [&](const Placed& each) { return each.key == key; });
      if (const auto found = loaded_.find(key); found != loaded_.end()) {
        codes = std::move(found->second);
        loaded_.erase(found);
      }
    }
    for (const CodeId code : codes) state_->remove(code);
  }

  // Tells the engine of the objects that are in place: their bytes are final now.
  void announce() {
    std::vector<Placed> all;
    {
      std::lock_guard lock(mutex_);
      all = std::exchange(placed_, {});
    }
    for (Placed& placed : all) {
      LoadedCode loaded{.base = placed.text.address,
                        .code = placed.text.bytes(),
                        .eh_frame_address = placed.frames.address,
                        .eh_frame = placed.frames.bytes(),
                        .functions = std::move(placed.functions)};
      const CodeId code = state_->announce(placed.name, std::move(placed.object), std::move(loaded));
      std::lock_guard lock(mutex_);
      loaded_[placed.key].push_back(code);
    }
  }

 private:
  struct Range {
    std::uint64_t address = 0;  // 0: it was not loaded
    std::uint64_t size = 0;
    std::string bytes() const {
      return address == 0 ? std::string() : std::string(reinterpret_cast<const char*>(address), size);
    }
  };
  struct Placed {
    ObjectKey key;
    std::string name;
    ExpectedObject object;
    std::vector<FunctionRange> functions;
    Range text = {}, frames = {};
  };

  // The object is relocatable: the value of a symbol is its offset in its section, and all code is in one.
  static std::vector<FunctionRange> functions_of(const llvm::object::ObjectFile& file) {
    std::vector<FunctionRange> functions;
    for (const auto& [symbol, size] : llvm::object::computeSymbolSizes(file)) {
      auto type = symbol.getType();
      auto name = symbol.getName();
      auto offset = symbol.getValue();
      if (type && name && offset && *type == llvm::object::SymbolRef::ST_Function) {
        functions.push_back(
            {name->str(), static_cast<std::uint32_t>(*offset), static_cast<std::uint32_t>(size)});
      }
      if (!type) llvm::consumeError(type.takeError());
      if (!name) llvm::consumeError(name.takeError());
      if (!offset) llvm::consumeError(offset.takeError());
    }
    std::sort(functions.begin(), functions.end(),
              [](const FunctionRange& a, const FunctionRange& b) { return a.offset < b.offset; });
    return functions;
  }

  std::shared_ptr<State> state_;
  const bool relocated_;
  std::mutex mutex_;
  std::vector<Placed> placed_;
  std::map<ObjectKey, std::vector<CodeId>> loaded_;
};

EngineLineage::EngineLineage(EngineEvents events)
    : state_(std::make_shared<State>(std::move(events))),
      rtdyld_(std::make_unique<RuntimeDyldListener>(state_, true)),
      mcjit_(std::make_unique<RuntimeDyldListener>(state_, false)) {}
EngineLineage::~EngineLineage() = default;

Status EngineLineage::add(std::shared_ptr<EngineModule> lineage, PlanId plan) {
  if (!lineage->begun()) return invalid("the module has no lineage: begin() was not called, or failed");
  std::lock_guard lock(state_->mutex);
  state_->added.push_back({std::move(lineage), plan});
  return Ok{};
}

Status EngineLineage::expect(llvm::MemoryBufferRef object, const std::string& kept, PlanId plan) {
  auto rows = lineage_of(object, kept);
  if (!rows) return rows.error();
  const std::string name = object.getBufferIdentifier().str();
  std::lock_guard lock(state_->mutex);
  if (!state_->expected.emplace(name, ExpectedObject{plan, std::move(*rows)}).second) {
    return invalid("two objects on their way to the linker are called " + name +
                   ": give their buffers other names");
  }
  return Ok{};
}

std::unique_ptr<orc::IRCompileLayer::IRCompiler> EngineLineage::make_compiler(
    orc::JITTargetMachineBuilder target) {
  return std::make_unique<Compiler>(state_, std::move(target));
}

Status EngineLineage::listen_to(orc::ObjectLayer& layer) {
  if (auto* linking = llvm::dyn_cast<orc::ObjectLinkingLayer>(&layer)) {
    linking->addPlugin(make_plugin<Plugin>(state_));
  } else if (auto* rtdyld = llvm::dyn_cast<orc::RTDyldObjectLinkingLayer>(&layer)) {
    rtdyld->registerJITEventListener(*rtdyld_);
  } else {
    return invalid("only an ObjectLinkingLayer or RTDyldObjectLinkingLayer can be listened to");
  }
  return Ok{};
}

llvm::JITEventListener& EngineLineage::mcjit_listener() {
  return *mcjit_;
}

void EngineLineage::mcjit_finalized() {
  mcjit_->announce();
}

}  // namespace tailor::jit
