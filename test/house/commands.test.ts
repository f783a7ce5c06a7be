/** The command table: few verbs at the top, each with an example, and nothing in it that leads nowhere. */
import { expect, test } from "vitest";
import { LOADERS, SUB_LOADERS } from "../../src/bin/commands/load.ts";
import { ALSO, type Command, COMMANDS, GROUPS, OLD_NAMES, VERBS_MAX } from "../../src/bin/commands/table.ts";

const COLUMNS_MAX = 80;
/** Refused with what to do instead. */
const REFUSED = ["sync"];
const commands: [string, Command][] = Object.entries(COMMANDS);

/** Refuses a call that no row of the table has: `palace VERB [SUB] …`. */
function expectKnown(call: string): void {
  const [palace, verb = "", sub = ""] = call.split(" ");
  expect(palace, call).toBe("palace");
  const command = commands.find(([name]) => name === verb)?.[1];
  expect(command, call).toBeDefined();
  if (/^[a-z][a-z-]*$/.test(sub)) expect(Object.keys(command?.subs ?? {}), call).toContain(sub);
}

test(`people see at most ${VERBS_MAX} verbs, in groups, each in a line of a terminal`, () => {
  const forPeople = commands.filter(([, { group }]) => group !== "programs");
  expect(forPeople.length).toBeLessThanOrEqual(VERBS_MAX);
  const order = Object.keys(GROUPS);
  const places = commands.map(([, { group }]) => order.indexOf(group));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  const width = Math.max(...commands.map(([name]) => name.length));
  for (const [name, { does }] of commands) expect(does.length + width + 4, name).toBeLessThanOrEqual(COLUMNS_MAX);
});

test("each verb has an example of itself", () => {
  for (const [name, { example }] of commands) expect(example.split(" ").slice(0, 2), name).toEqual(["palace", name]);
});

test("each old name has a new one, which the table has", () => {
  for (const call of Object.values(OLD_NAMES)) expectKnown(call);
  const names = [...Object.keys(COMMANDS), ...Object.keys(OLD_NAMES), ...Object.keys(ALSO)];
  expect(names.length).toBe(new Set(names).size);
});

test("the subverbs that are loaded, or are known to their verb, are those of the table", async () => {
  for (const [name, { subs = {} }] of commands) {
    const own = Object.keys((await LOADERS[name as keyof typeof LOADERS]()).verb.subs ?? {});
    const loaded = Object.keys(SUB_LOADERS[name as keyof typeof SUB_LOADERS] ?? {});
    expect(Object.keys(subs), name).toEqual(
      expect.arrayContaining([...loaded, ...own.filter((sub) => !REFUSED.includes(sub))]),
    );
  }
});
