// Classes with Spark's names that are not as the agent knows them.
//
// java org.apache.spark.SparkContext other|known: calls the methods that have another shape than Spark's, or those that have the
// same one, of objects that have none of the methods that Spark's have. Prints how many calls there were.
package org.apache.spark;

import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;

public final class SparkContext {
  private SparkContext() {}

  private static int others() {
    TaskContext$ tasks = new TaskContext$();
    WholeStageCodegenExec stage = new WholeStageCodegenExec();
    int calls = 0;
    if (tasks.setTaskContext("a task") == 1) ++calls;
    if (stage.doCodeGen(1) == null) ++calls;
    if (stage.produce(1).equals(1)) ++calls;
    if (new SparkPlan().execute(2).equals("2")) ++calls;
    return calls;
  }

  private static int known() {
    TaskContext$ tasks = new TaskContext$();
    WholeStageCodegenExec stage = new WholeStageCodegenExec();
    int calls = 0;
    tasks.setTaskContext(new TaskContext());
    tasks.unset();
    if (tasks.task == null) ++calls;
    if (stage.doCodeGen() != null) ++calls;
    CodegenSupport operator = stage;
    if (operator.produce("code").equals("code")) ++calls;
    if (operator.consume("row").equals("row")) ++calls;
    return calls;
  }

  public static void main(String[] arguments) {
    System.out.println((arguments[0].equals("other") ? others() : known()) + " calls");
  }
}

class TaskContext {}

class TaskContext$ {
  TaskContext task;

  int setTaskContext(String name) {
    return name.isEmpty() ? 0 : 1;
  }

  void setTaskContext(TaskContext task) {
    this.task = task;
  }

  void unset() {
    task = null;
  }
}
