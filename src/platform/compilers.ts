/**
 * Imported early by every executable, for its effect: machine code is made on the main thread. A background compiler that runs
 * out of heap waits for the main thread to collect garbage, and a main thread that ends waits for that compiler, for ever
 * (https://github.com/nodejs/node/issues/54918; seen here with 24.21: a `palace forget` that had said all it had to say). Which
 * functions deserve that code is still found out in the background.
 */
process.getBuiltinModule("node:v8").setFlagsFromString("--no-concurrent-sparkplug");
process.getBuiltinModule("node:v8").setFlagsFromString("--no-maglev-build-code-on-background");
