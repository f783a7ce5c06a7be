import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { hasTerminal, typeIn } from "../../helpers/terminal.ts";

const FILLER = Array.from({ length: 60 }, (_, at) => `filler${at} of nothing`).join(" ");
const LINES = ["Before lunch.", "After the news.", "While nobody looks."].join("\n");
const DEPLOY = `# Deploying\n\n${FILLER}\n\n## On Fridays\n\n${LINES}\n\nWe roll the servers back by hand. ${FILLER}\n`;

test.skipIf(!hasTerminal)(
  "on a terminal a hit shows its file, its heading and the matching passage, with the words of the query marked",
  async () => {
    await using palace = createTestPalace();
    const project = join(palace.home, "project");
    mkdirSync(join(project, "guide"), { recursive: true });
    writeFileSync(join(project, "guide/deploy.md"), DEPLOY);
    await palace.run("palace", ["mine", "docs", project, "--wing", "w"]);
    const seen = (env: Record<string, string>): string =>
      typeIn(palace, "search roll back a server --limit 1", { columns: 70, env }).screen;
    const marked = seen({});
    const line = DEPLOY.split("\n").findIndex((one) => one.startsWith("We roll")) + 1;
    expect(marked).toMatch(new RegExp(`^.*1\\. ~/project/guide/deploy\\.md:${line} › On Fridays$`, "m"));
    expect(marked).toMatch(/^ {3}w \/ general {2}by words {2}[0-9a-f]{10}$/m);
    expect(marked).toContain("\u001B[1m\u001B[4mservers\u001B[");
    const plain = seen({ NO_COLOR: "1" });
    expect(plain).not.toContain("\u001B[1m");
    expect(plain.replaceAll(/\n {3}/g, " ")).toContain("We roll the servers back by hand.");
    const passage = plain.split("\n").filter((line) => /^ {3}.*filler/.test(line));
    const words = new Set(`… ${DEPLOY}`.split(/\s+/));
    expect(passage.length).toBeGreaterThan(1);
    expect(passage.filter((line) => line.length > 70)).toEqual([]);
    expect(passage.flatMap((line) => line.trim().split(" ")).filter((word) => !words.has(word))).toEqual([]);
    // In a pipe a hit is one line with the drawer's whole text.
    const { stdout } = await palace.run("palace", ["search", "roll back a server", "--limit", "1"]);
    expect(stdout.split("\t").slice(0, 4)).toEqual(["1", "w", expect.any(String), "guide/deploy.md"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    // For a file that changed, the output has no line number.
    writeFileSync(join(project, "guide/deploy.md"), DEPLOY.replace("by hand", "by machine"));
    expect(seen({ NO_COLOR: "1" })).toMatch(/^.*1\. guide\/deploy\.md › On Fridays$/m);
  },
);
