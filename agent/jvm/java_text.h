// Names and lines of methods, asked of JVMTI. Only within a callback that names the methods: later they may
// be gone (JDK-8268364).
#pragma once

#include <jvmti.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "agent/jvm/compiled_code.h"

namespace tailor::jvm {

// Names are whatever a class file says: any length and bytes. They are cut to some kilobytes here; the agent
// replaces what is not UTF-8.
class JavaText {
 public:
  explicit JavaText(jvmtiEnv* jvmti) : jvmti_(jvmti) {}
  ~JavaText();
  JavaText(const JavaText&) = delete;
  JavaText& operator=(const JavaText&) = delete;

  // Number of the method in texts(); each method is asked for once.
  std::uint32_t number(jmethodID method);
  // The line of the instruction at `bci`; 0 where the class does not say, or in native code.
  std::int32_t line(std::uint32_t number, jint bci) const;
  std::vector<MethodText> take() { return std::move(texts_); }

 private:
  struct Lines {
    jvmtiLineNumberEntry* entries = nullptr;
    jint count = 0;
  };
  MethodText text_of(jmethodID method) const;
  std::uint64_t unit_of(jclass of, const std::string& name) const;

  jvmtiEnv* jvmti_;
  std::unordered_map<jmethodID, std::uint32_t> numbers_;
  std::vector<MethodText> texts_;
  std::vector<Lines> lines_;
};

}  // namespace tailor::jvm
