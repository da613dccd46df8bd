#include "agent/jvm/java_text.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "agent/jvm/modified_utf8.h"
#include "agent/jvm/roles.h"

namespace tailor::jvm {
namespace {

constexpr std::size_t kMostBytes = 2000;

// A string of JVMTI's, given back.
std::string take_string(jvmtiEnv* jvmti, char* text) {
  if (!text) return {};
  std::string copy = from_modified_utf8({text, ::strnlen(text, kMostBytes)});
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(text));
  return copy;
}

// "Ljava/util/HashMap;" is "java.util.HashMap".
std::string class_name_of(std::string signature) {
  if (signature.size() >= 2 && signature.front() == 'L' && signature.back() == ';')
    signature = signature.substr(1, signature.size() - 2);
  std::replace(signature.begin(), signature.end(), '/', '.');
  return signature;
}

}  // namespace

JavaText::~JavaText() {
  for (const Lines& lines : lines_) {
    if (lines.entries) jvmti_->Deallocate(reinterpret_cast<unsigned char*>(lines.entries));
  }
}

// Spark gives all generated classes one name; each compilation has a class loader of its own, with its tag.
std::uint64_t JavaText::unit_of(jclass of, const std::string& name) const {
  if (!name.starts_with("org.apache.spark.sql.catalyst.expressions.GeneratedClass")) return 0;
  jobject loader = nullptr;
  jlong tag = 0;
  if (jvmti_->GetClassLoader(of, &loader) != JVMTI_ERROR_NONE || !loader) return 0;
  return jvmti_->GetTag(loader, &tag) == JVMTI_ERROR_NONE ? static_cast<std::uint64_t>(tag) : 0;
}

MethodText JavaText::text_of(jmethodID method) const {
  MethodText text;
  char* name = nullptr;
  jclass owner = nullptr;
  std::string method_name = "?";
  if (jvmti_->GetMethodName(method, &name, nullptr, nullptr) == JVMTI_ERROR_NONE)
    method_name = take_string(jvmti_, name);
  if (jvmti_->GetMethodDeclaringClass(method, &owner) == JVMTI_ERROR_NONE) {
    char* signature = nullptr;
    if (jvmti_->GetClassSignature(owner, &signature, nullptr) == JVMTI_ERROR_NONE)
      text.class_name = class_name_of(take_string(jvmti_, signature));
    text.role = role_of_class(text.class_name);
    text.unit = unit_of(owner, text.class_name);
    char* file = nullptr;
    if (jvmti_->GetSourceFileName(owner, &file) == JVMTI_ERROR_NONE) text.file = take_string(jvmti_, file);
  }
  text.name = text.class_name + "." + method_name;
  return text;
}

std::uint32_t JavaText::number(jmethodID method) {
  const auto [known, fresh] = numbers_.try_emplace(method, static_cast<std::uint32_t>(texts_.size()));
  if (!fresh) return known->second;
  texts_.push_back(text_of(method));
  Lines lines;
  if (jvmti_->GetLineNumberTable(method, &lines.count, &lines.entries) != JVMTI_ERROR_NONE) lines = {};
  std::sort(lines.entries, lines.entries + lines.count,
            [](const auto& a, const auto& b) { return a.start_location < b.start_location; });
  lines_.push_back(lines);
  return known->second;
}

std::int32_t JavaText::line(std::uint32_t number, jint bci) const {
  const Lines& lines = lines_[number];
  const auto* end = lines.entries + lines.count;
  const auto* after = std::upper_bound(lines.entries, lines.entries + lines.count, std::max(bci, 0),
                                       [](jint at, const auto& entry) { return at < entry.start_location; });
  // In front of the first entry, as at -1, a method begins at its first line.
  if (after == lines.entries) return after == end ? 0 : after->line_number;
  return (after - 1)->line_number;
}

}  // namespace tailor::jvm
