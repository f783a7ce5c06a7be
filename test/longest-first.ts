/** Starts the longest test files first, so that none runs alone at the end. Needs no times of earlier runs. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that last longest, longest first within their suite. A test fails if a file does not exist. */
export const LONGEST: readonly string[] = [
  "process/mempalace/round-trip.test.ts",
  "process/mempalace/closets.test.ts",
  "process/ui/acceptance.test.ts",
  "process/write/forget-kill.test.ts",
  "process/write/long-documents.test.ts",
  "process/backup/import.test.ts",
  "process/doors/bridge.test.ts",
  "process/write/miners-side-by-side.test.ts",
  "process/feeders/miner-kill.test.ts",
  "process/feeders/session-kill.test.ts",
  "process/mempalace/settings-parity.test.ts",
  "process/mempalace/repair-python.test.ts",
  "process/write/foreign-writers.test.ts",
  "process/backup/restore.test.ts",
  "process/mempalace/files-kill-python.test.ts",
  "process/mempalace/projects-parity.test.ts",
  "simulation/schedules.test.ts",
  "differential/old.test.ts",
  "differential/new.test.ts",
  "topology/devbox.test.ts",
  "topology/grid/host.test.ts",
  "topology/grid/reached.test.ts",
  "topology/grid/container.test.ts",
  "topology/fresh-clone.test.ts",
  "topology/kill-chroma.test.ts",
  "stack/compose.test.ts",
  "stack/recreate.test.ts",
  "stack/devcontainer.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      return at === -1 ? LONGEST.length : at;
    };
    return sorted.sort((a, b) => place(a) - place(b));
  }
}
