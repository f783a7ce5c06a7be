/** Describes every command for the completions, the man page and the docs. It loads the files of all verbs. */
import type { Verb } from "../define-verb.ts";
import { LOADERS, SUB_LOADERS } from "./load.ts";
import { ALSO, type Command, COMMANDS, type CommandName } from "./table.ts";

export type Flag = Readonly<{ name: string; short?: string; takesValue: boolean }>;

export type Described = Readonly<{
  name: string;
  does: string;
  flags: readonly Flag[];
  subs: readonly Described[];
  usage: string;
}>;

export type DescribedCommand = Described & Pick<Command, "group" | "example">;

export async function describeCommands(): Promise<DescribedCommand[]> {
  const entries = Object.entries(COMMANDS) as [CommandName, Command][];
  return Promise.all(
    entries.map(async ([name, { group, does, example, subs = {} }]) => {
      const { verb } = await LOADERS[name]();
      const others = { ...verb.subs, ...SUB_LOADERS[name] };
      const described = Object.entries(subs).map(async ([sub, what]): Promise<Described> => {
        const own = Object.hasOwn(others, sub) ? (await others[sub]?.())?.verb : undefined;
        return { name: sub, does: what, flags: flagsOf(own ?? verb), subs: [], usage: own?.usage ?? "" };
      });
      const all = await Promise.all(described);
      return { name, group, does, example, flags: flagsOf(verb), subs: all, usage: verb.usage };
    }),
  );
}

/** Returns the words that a shell completes after `palace`: the verbs for people, and `help`. */
export function wordsFor(commands: readonly DescribedCommand[]): Described[] {
  const forPeople = commands.filter(({ group }) => group !== "programs");
  const word = (name: string, does: string, subs: readonly Described[] = []): Described => ({
    ...{ name, does, subs, flags: [], usage: "" },
  });
  return [
    ...forPeople,
    ...Object.entries(ALSO).map(([name, does]) => word(name, does)),
    word(
      "help",
      "say more about a verb, with an example",
      forPeople.map(({ name, does }) => word(name, does)),
    ),
  ];
}

function flagsOf({ options = {} }: Verb): Flag[] {
  return Object.entries(options).map(([name, { type, short }]) => ({
    name,
    takesValue: type === "string",
    ...(short !== undefined && { short }),
  }));
}
