import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { sweepLeftovers } from "../helpers/docker-run.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`killed run left out: ${reason}`);

const helper = (name: string): string => JSON.stringify(join(import.meta.dirname, "../helpers", name));
/** Makes a container, a network and a volume, and then prints the prefix of their names. */
const MAKE = `
import { NamedContainer, startNetwork } from ${helper("docker-box.ts")};
import { dockerName } from ${helper("docker-run.ts")};
const network = await startNetwork(dockerName("net"));
await new NamedContainer("node:24-trixie-slim", "box")
  .withNetwork(network)
  .withBindMounts([{ source: dockerName("volume"), target: "/kept" }])
  .withCommand(["sleep", "infinity"])
  .start();
console.log(dockerName(""));
setInterval(() => {}, 60_000);
`;

async function madeBy(prefix: string): Promise<string[]> {
  const lists = await Promise.all(
    [
      ["ps", "--all", "--format", "{{.Names}}"],
      ...["network", "volume"].map((kind) => [kind, "ls", "--format", "{{.Name}}"]),
    ].map((list) => execa("docker", list)),
  );
  const names = lists.flatMap(({ stdout }) => stdout.split("\n")).filter((name) => name.startsWith(prefix));
  return names.map((name) => name.slice(prefix.length)).toSorted();
}

describe.skipIf(reason)("a test run that is killed", () => {
  test("the next test run removes the container, network and volume that a killed test run left", async () => {
    const run = execa(process.execPath, ["--input-type=module", "-e", MAKE], { reject: false });
    const said = await Promise.race([run.iterable().next(), run]);
    const prefix = "value" in said ? String(said.value) : "";
    expect(prefix, "stderr" in said ? said.stderr : "").toMatch(/^palace-run-/);
    expect(await madeBy(prefix)).toEqual(["box", "net", "volume"]);
    run.kill("SIGKILL");
    await run;
    await sweepLeftovers();
    expect(await madeBy(prefix)).toEqual([]);
  });
});
