import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

/**
 * The many files of unit and process share what a worker has imported: to load it for each of them anew took a tenth of their
 * time. A test there ends what it starts.
 */
const SHARED = false;

/** What is polled for has half a test's time: vitest's own second is a claim about speed that no test here makes. */
const project = (name: string, include: string[], timeoutMs: number, isolate = true) => ({
  test: {
    ...{ name, include, isolate, testTimeout: timeoutMs, hookTimeout: timeoutMs, environment: "node" as const },
    expect: { poll: { timeout: timeoutMs / 2 } },
  },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    // What a test has stubbed is put back after it.
    unstubEnvs: true,
    restoreMocks: true,
    sequence: { sequencer: LongestFirst },
    env: {
      // onnxruntime's own telemetry: off in the broker, and so in tests that load it themselves.
      ORT_DISABLE_TELEMETRY: "1",
      // Its image cannot be pulled everywhere: test/helpers/docker-run.ts removes what killed runs leave.
      TESTCONTAINERS_RYUK_DISABLED: "true",
    },
    projects: [
      // A file that needs more time than its project gives says so itself, with `vi.setConfig` above its tests.
      project("unit", ["test/{unit,pins,house,contract}/**/*.test.ts", "test/regressions/*.test.ts"], 60_000, SHARED),
      // Regressions that start a broker need a process test's time.
      project("process", ["test/{process,regressions/process}/**/*.test.ts"], 300_000, SHARED),
      project("seeded", ["test/{simulation,differential,fuzz}/**/*.test.ts"], 300_000),
      project("containers", ["test/{topology,stack}/**/*.test.ts"], 900_000),
      project("agents", ["test/agents/**/*.test.ts"], 900_000),
      project("install", ["test/install/**/*.test.ts"], 900_000),
      project("soak", ["test/soak/**/*.test.ts"], 300_000),
    ],
  },
});
