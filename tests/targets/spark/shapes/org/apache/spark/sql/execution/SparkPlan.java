package org.apache.spark.sql.execution;

public final class SparkPlan {
  public Object execute(int number) {
    return Integer.toString(number);
  }
}
