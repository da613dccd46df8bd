package org.apache.spark.sql.execution;

public interface CodegenSupport {
  default Object produce(int number) {
    return number;
  }

  default String produce(String text) {
    return text;
  }

  default String consume(String text) {
    return text;
  }
}
