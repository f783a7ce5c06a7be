import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

/**
 * The test files of unit and process share the modules that a worker has imported. Loading them again for each file took a tenth of the
 * time. So a test there ends the processes that it starts.
 */
const SHARED = false;

/**
 * Time limit of `expect.poll`: half a test's time. Vitest's default of one second would be a claim about speed, and no test here makes one.
 */
const project = (name: string, include: string[], timeoutMs: number, isolate = true) => ({
  test: {
    ...{ name, include, isolate, testTimeout: timeoutMs, hookTimeout: timeoutMs, environment: "node" as const },
    expect: { poll: { timeout: timeoutMs / 2 } },
  },
});

/** Matches errors of Docker's own runtime, which sometimes cannot start or pause a container on a busy machine. Only such a test runs again. */
const ENGINE_FAULT = /OCI runtime|unable to freeze|failed to create (?:shim )?task/;

const withEngine = ({ test }: ReturnType<typeof project>) => ({
  test: { ...test, retry: { count: 2, delay: 1_000, condition: ENGINE_FAULT } },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    // Vitest restores the stubs of a test after it.
    unstubEnvs: true,
    restoreMocks: true,
    sequence: { sequencer: LongestFirst },
    env: {
      // Turns off onnxruntime's own telemetry, as the broker does, for tests that load onnxruntime themselves.
      ORT_DISABLE_TELEMETRY: "1",
      // The image of testcontainers' cleaner cannot be pulled everywhere. test/helpers/docker-run.ts removes the leftovers of killed runs
      // instead.
      TESTCONTAINERS_RYUK_DISABLED: "true",
    },
    projects: [
      // A file that needs more time than its project allows calls `vi.setConfig` above its tests.
      project("unit", ["test/{unit,pins,house,contract}/**/*.test.ts", "test/regressions/*.test.ts"], 60_000, SHARED),
      // Regressions that start a broker need the time of a process test.
      project("process", ["test/{process,regressions/process}/**/*.test.ts"], 300_000, SHARED),
      project("seeded", ["test/{simulation,differential,fuzz}/**/*.test.ts"], 300_000),
      withEngine(project("containers", ["test/{topology,stack}/**/*.test.ts"], 900_000)),
      withEngine(project("agents", ["test/agents/**/*.test.ts"], 900_000)),
      project("install", ["test/install/**/*.test.ts"], 900_000),
      project("soak", ["test/soak/**/*.test.ts"], 300_000),
    ],
  },
});
