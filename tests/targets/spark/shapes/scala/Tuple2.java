package scala;

public final class Tuple2 {}
