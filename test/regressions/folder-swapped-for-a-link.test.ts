/** If a symbolic link replaced a project's folder after the survey, an agent could file any file that the broker's user can read. */
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readDocument, surveyProject } from "../../src/feeders/doc-miner/survey.ts";

it("the miner does not read a document in a folder that became a symbolic link", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "palace-swap-")));
  try {
    const root = join(folder, "project");
    const elsewhere = join(folder, "elsewhere");
    for (const dir of [join(root, "docs"), elsewhere]) mkdirSync(dir, { recursive: true });
    writeFileSync(join(root, "docs", "a.md"), "of the project\n");
    writeFileSync(join(elsewhere, "a.md"), "nobody's business\n");
    const [found] = surveyProject(root, []).documents;
    expect(found?.path).toBe("docs/a.md");
    expect(readDocument(root, "docs/a.md")).toMatchObject({ text: "of the project\n" });
    renameSync(join(root, "docs"), join(root, "docs.before"));
    symlinkSync(elsewhere, join(root, "docs"));
    expect(readDocument(root, "docs/a.md")).toBe("reached through a symbolic link");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
