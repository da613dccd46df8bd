// What class tailor.jvm.Native calls for Spark's queries. Without Spark, and before the agent begins, every
// call does nothing.
#include <tailor/agent.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/jvm/running.h"

namespace tailor::jvm {
namespace {

// What f(Spark&) returns, else what a query or a number is where there is none: 0. No exception passes to
// Java's frames.
template <typename F>
auto with_spark(F f) noexcept -> decltype(f(std::declval<Spark&>())) {
  using Value = decltype(f(std::declval<Spark&>()));
  Running* running = g_running.load();
  if (running == nullptr || running->spark == nullptr) return Value();
  try {
    return f(*running->spark);
  } catch (...) {
    return Value();
  }
}

std::vector<std::uint32_t> numbers_of(JNIEnv* env, jintArray array) {
  std::vector<std::uint32_t> out(array ? static_cast<std::size_t>(env->GetArrayLength(array)) : 0);
  if (!out.empty()) {
    env->GetIntArrayRegion(array, 0, static_cast<jsize>(out.size()), reinterpret_cast<jint*>(out.data()));
  }
  return out;
}

std::uint64_t number(jlong value) {
  return static_cast<std::uint64_t>(value);
}

std::uint64_t add_unit(JNIEnv* env, Spark& spark, jobject loader, jstring source, jintArray owners) {
  GeneratedUnit unit;
  unit.source = text_of(env, source);
  unit.owners = numbers_of(env, owners);
  for (std::uint32_t owner : unit.owners) unit.operators = std::max(unit.operators, owner);
  const std::uint64_t id = spark.add_unit(std::move(unit));
  const bool tagged = g_running.load()->jvmti->SetTag(loader, static_cast<jlong>(id)) == JVMTI_ERROR_NONE;
  return tagged ? id : 0;
}

}  // namespace
}  // namespace tailor::jvm

using namespace tailor::jvm;

extern "C" {

JNIEXPORT jlong JNICALL Java_tailor_jvm_Native_unit(JNIEnv* env, jclass, jobject loader, jstring source,
                                                    jintArray owners) {
  return static_cast<jlong>(with_spark([&](Spark& s) { return add_unit(env, s, loader, source, owners); }));
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_forgetUnit(JNIEnv*, jclass, jlong unit) {
  with_spark([&](Spark& spark) { spark.forget_unit(number(unit)); });
}

// `labels`: key, value, key, value ...
JNIEXPORT jlong JNICALL Java_tailor_jvm_Native_beginQuery(JNIEnv* env, jclass, jstring name,
                                                          jobjectArray labels) {
  return static_cast<jlong>(with_spark([&](Spark& spark) {
    std::vector<std::pair<std::string, std::string>> said;
    const auto at = [&](jsize i) {
      return text_of(env, static_cast<jstring>(env->GetObjectArrayElement(labels, i)));
    };
    for (jsize i = 0; i + 1 < env->GetArrayLength(labels); i += 2) said.emplace_back(at(i), at(i + 1));
    return spark.begin_query(text_of(env, name), said);
  }));
}

JNIEXPORT jint JNICALL Java_tailor_jvm_Native_addOperator(JNIEnv* env, jclass, jlong query, jstring name,
                                                          jstring kind, jstring detail) {
  return static_cast<jint>(with_spark([&](Spark& spark) {
    return spark.add_operator(number(query), text_of(env, name), text_of(env, kind), text_of(env, detail));
  }));
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_addInput(JNIEnv*, jclass, jlong query, jint of, jint input) {
  with_spark([&](Spark& spark) {
    spark.add_input(number(query), static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(input));
  });
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_setNumber(JNIEnv* env, jclass, jlong query, jint of,
                                                        jstring key, jdouble value) {
  with_spark([&](Spark& spark) {
    spark.set_number(number(query), static_cast<std::uint32_t>(of), text_of(env, key), value);
  });
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_send(JNIEnv*, jclass, jlong query) {
  with_spark([&](Spark& spark) { spark.send(number(query)); });
}

JNIEXPORT jint JNICALL Java_tailor_jvm_Native_useUnit(JNIEnv* env, jclass, jlong query, jlong unit,
                                                      jintArray operators, jint first) {
  return static_cast<jint>(with_spark([&](Spark& spark) {
    return spark.use_unit(number(query), number(unit), numbers_of(env, operators),
                          static_cast<std::uint32_t>(std::max(first, 0)));
  }));
}

JNIEXPORT jstring JNICALL Java_tailor_jvm_Native_identity(JNIEnv* env, jclass, jlong query) {
  const std::string identity = with_spark([&](Spark& spark) { return spark.identity(number(query)); });
  return env->NewStringUTF(identity.c_str());
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_endQuery(JNIEnv* env, jclass, jlong query, jstring error) {
  with_spark([&](Spark& spark) { spark.end_query(number(query), text_of(env, error)); });
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_setRole(JNIEnv* env, jclass, jlong query, jint stage,
                                                      jstring role, jintArray operators) {
  with_spark([&](Spark& spark) {
    spark.set_role(number(query), stage, text_of(env, role), numbers_of(env, operators));
  });
}

JNIEXPORT jlong JNICALL Java_tailor_jvm_Native_enter(JNIEnv* env, jclass, jlong query, jint stage) {
  return static_cast<jlong>(with_spark([&](Spark& spark) {
    g_running.load()->events->tell_anchor(env);  // of a thread that began before the agent
    return spark.enter(number(query), stage);
  }));
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_started(JNIEnv*, jclass) {
  with_spark([](Spark& spark) { spark.started(); });
}

JNIEXPORT void JNICALL Java_tailor_jvm_Native_leave(JNIEnv*, jclass, jlong query, jint stage,
                                                    jlong execution) {
  with_spark([&](Spark& spark) { spark.leave(number(query), stage, number(execution)); });
}

}  // extern "C"
