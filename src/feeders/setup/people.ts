/** Finds the authors of commits, and joins names and addresses of the same person (palace.md 5.8). Pure. */
import { strip } from "../../memory/text/text.ts";

export type Commit = { name: string; address: string; repository: string };
export type Person = { name: string; commits: number; repositories: number };

/** Returns authors with full names, the most commits first. Commits with the same name or address are by the same person. */
export function peopleOf(commits: readonly Commit[]): Person[] {
  const parents = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (let parent = parents.get(root); parent !== undefined && parent !== root; parent = parents.get(root))
      root = parent;
    parents.set(key, root);
    return root;
  };
  for (const { name, address } of commits)
    if (address !== "") parents.set(rootOf(`name ${name}`), rootOf(`address ${address}`));

  type Group = { names: Map<string, number>; repositories: Set<string>; commits: number };
  const groups = new Map<string, Group>();
  for (const { name, repository } of commits) {
    const key = rootOf(`name ${name}`);
    const group = groups.get(key) ?? { names: new Map(), repositories: new Set(), commits: 0 };
    groups.set(key, group);
    group.names.set(name, (group.names.get(name) ?? 0) + 1);
    group.repositories.add(repository);
    group.commits += 1;
  }
  const people = new Map<string, Group>();
  for (const group of groups.values()) {
    const names = [...group.names].sort(([, a], [, b]) => b - a).map(([name]) => name);
    const name = names.find(isFullName);
    if (name === undefined) continue;
    const known = people.get(name);
    if (known === undefined) people.set(name, group);
    else {
      known.commits += group.commits;
      for (const repository of group.repositories) known.repositories.add(repository);
    }
  }
  return [...people]
    .map(([name, group]) => ({ name, commits: group.commits, repositories: group.repositories.size }))
    .sort((a, b) => b.commits - a.commits);
}

/** Returns true for two or more words of which the first and the last begin with a capital, because nicknames look different. */
function isFullName(name: string): boolean {
  const words = strip(name).split(/\s+/);
  return (
    name.includes(" ") && words.length > 1 && [words[0], words.at(-1)].every((word) => /^\p{Lu}/u.test(word ?? ""))
  );
}
