// Spark's own interface, for the compiler alone: this class is not in the jar.
package org.apache.spark.sql.api.java;

public interface UDF1<T, R> extends java.io.Serializable {
  R call(T argument) throws Exception;
}
